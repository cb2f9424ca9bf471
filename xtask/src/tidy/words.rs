use crate::tidy::finding::Finding;
use crate::tidy::lexer::Literal;
use crate::tidy::source::Source;
use crate::tidy::tree::{Script, Tree};

/// Phrases that are wrong English, or that a reader has to puzzle out. Say who does what instead,
/// as in "the caller gets an error".
const PHRASES: &[&str] = &[
    "is told",
    "are told",
    "was told",
    "were told",
    "be told",
    "being told",
    "told of",
    "tells of",
    "as it comes",
    "that is none",
    "that are none",
    "so many",
    "stands for nothing",
    "stands in its",
    "sees to it",
    "see to it",
    "to who",
    "for who",
    "by who",
    "what is there",
    "gone on with",
    "such as have",
    "whoever",
    "somebody",
    "goes on",
    "go on",
    "went on",
    "comes to exist",
    "come to exist",
    "came to exist",
    "without a word",
    "makes up for",
    "make up for",
    "called off",
    "for want of",
    "hears of",
    "hear of",
    "an ok survives",
];

/// What a doc comment must not begin with: a genitive without its noun.
const OPENINGS: &[&str] = &["of the", "of a", "of this", "of its"];

/// Pages, comments and the texts that users read are written in plain English. Doc comments are
/// also the help texts of commands.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let pages = tree.pages.iter().flat_map(|page| found(&page.path, &passages(&page.text), &[]));
    let sources = tree.rust.iter().flat_map(in_source);
    let scripts = tree.scripts.iter().filter(|script| !is_landed(script));
    let scripts = scripts.flat_map(|script| {
        let remarks = (1..).zip(script.text.lines()).filter_map(|(number, line)| {
            let (_, remark) = line.split_once("--")?;
            Some((number, remark.trim_start_matches('-').trim()))
        });
        found(&script.path, &joined(remarks), &[])
    });
    pages.chain(sources).chain(scripts).collect()
}

/// A migration never changes once it has landed, not even its comments: some stores know it by its
/// checksum.
fn is_landed(script: &Script) -> bool {
    script.path.contains("/migrations/")
}

fn in_source(source: &Source) -> Vec<Finding> {
    let comments = |is_doc: bool| {
        let of_kind = source.comments.iter().filter_map(move |comment| {
            let text = &comment.text;
            let doc = text.strip_prefix("///").or_else(|| text.strip_prefix("//!"));
            let words = doc.unwrap_or(text).trim_start_matches('/').trim();
            (doc.is_some() == is_doc).then_some((comment.line, words))
        });
        joined(of_kind)
    };
    let mut findings = found(&source.path, &comments(true), OPENINGS);
    findings.extend(found(&source.path, &comments(false), &[]));
    if source.is_product() {
        let end = source.product_code().lines().count();
        let strings = source.strings.iter().filter(|string| string.line <= end);
        findings.extend(strings.flat_map(|string| found(&source.path, &[printed(string)], &[])));
    }
    findings
}

/// A string as its reader sees it: a line that ends in `\` continues on the next.
fn printed(string: &Literal) -> Passage<'_> {
    let lines = string.text.lines().map(|line| line.trim().trim_end_matches('\\').trim_end());
    Passage { first: string.line, lines: lines.collect() }
}

/// Lines that are read as one text, so that a phrase is found across a line break.
struct Passage<'a> {
    first: usize,
    lines: Vec<&'a str>,
}

/// The paragraphs of a page, without its code blocks.
fn passages(text: &str) -> Vec<Passage<'_>> {
    let mut is_code = false;
    let prose = (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    joined(prose)
}

fn joined<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<Passage<'a>> {
    let mut passages: Vec<Passage<'_>> = Vec::new();
    for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
        match passages.last_mut() {
            Some(last) if last.first + last.lines.len() == number => last.lines.push(line),
            _ => passages.push(Passage { first: number, lines: vec![line] }),
        }
    }
    passages
}

fn found(path: &str, passages: &[Passage<'_>], openings: &[&str]) -> Vec<Finding> {
    let found = passages.iter().flat_map(|passage| {
        let text = passage.lines.join(" ").to_ascii_lowercase();
        let opening = openings.iter().filter(|opening| text.starts_with(&format!("{opening} ")));
        let mut found: Vec<_> = opening.map(|opening| (passage.first, *opening)).collect();
        for phrase in PHRASES {
            let whole = text.match_indices(phrase).filter(|(at, _)| is_whole(&text, *at, phrase));
            found.extend(whole.map(|(at, _)| (passage.line_at(at), *phrase)));
        }
        found.sort_unstable();
        found
    });
    let message = |phrase| format!("says \"{phrase}\"; say who does what, in plain words");
    found.map(|(line, phrase)| Finding::at(path, line, message(phrase))).collect()
}

impl Passage<'_> {
    /// The line of a byte of the joined text.
    fn line_at(&self, at: usize) -> usize {
        let mut end = 0;
        let passed = self.lines.iter().take_while(|line| {
            end += line.len() + 1;
            end <= at
        });
        self.first + passed.count()
    }
}

fn is_whole(text: &str, at: usize, phrase: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '`');
    !is_part(text[..at].chars().next_back()) && !is_part(text[at + phrase.len()..].chars().next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::Severity;
    use crate::tidy::tree::Page;

    fn failures(path: &str, text: &str) -> Vec<Option<usize>> {
        let (path, text) = (path.to_owned(), text.to_owned());
        let mut tree = Tree::default();
        match path.rsplit_once('.').unwrap().1 {
            "rs" => tree.rust.push(Source::new(&path, &text)),
            "md" => tree.pages.push(Page { path, text }),
            _ => tree.scripts.push(Script { path, text }),
        }
        let failures =
            check(&tree).into_iter().filter(|finding| finding.severity == Severity::Failure);
        failures.map(|finding| finding.line).collect()
    }

    #[test]
    fn a_phrase_fails_also_in_capitals_and_across_lines() {
        assert_eq!(failures("docs/a.md", "one\n\nThe caller Is told."), [Some(3)]);
        assert_eq!(
            failures("docs/a.md", "one\nthe caller is\ntold so, and\nis told"),
            [Some(2), Some(4)]
        );
        assert_eq!(
            failures("a/src/b.rs", "/// The caller\n    /// is told.\nfn a() {}"),
            [Some(2)]
        );
        assert_eq!(failures("a/src/b.rs", "//! Takes so many jobs."), [Some(1)]);
        assert_eq!(failures("docs/a.md", "Whoever acks\nhears\nof it."), [Some(1), Some(2)]);
    }

    #[test]
    fn other_words_code_and_names_pass() {
        let page = "this toldness, `is told`, r1_is_told\n```\nis told\n```\nis\n\ntold";
        assert_eq!(failures("docs/a.md", page), []);
        let code = "let said = \"is told\";\n/// is\nfn told() {}\n/// told\n// is\nx\n// told";
        assert_eq!(failures("a/src/b.rs", code), []);
    }

    #[test]
    fn comments_of_every_language_are_checked() {
        assert_eq!(
            failures("a/src/b.rs", "a; // It is\n// told.\n/// So many."),
            [Some(3), Some(1)]
        );
        assert_eq!(
            failures("a/sql/b.sql", "SELECT 1; -- is\n-- told\n-- is\n1 -- so many"),
            [Some(1), Some(4)]
        );
        assert_eq!(failures("a/lua/b.lua", "--- Whoever\nreturn 'is told'"), [Some(1)]);
    }

    #[test]
    fn a_landed_migration_keeps_its_comments() {
        assert_eq!(failures("a/migrations/1.sql", "-- is told"), []);
    }

    #[test]
    fn strings_of_a_product_are_checked_but_for_those_of_its_tests() {
        let code = "f(\"it \\\n   is told\")\n#[cfg(test)]\nmod tests {\n\"is told\"}";
        assert_eq!(failures("queuekit-core/src/a.rs", code), [Some(2)]);
        assert_eq!(failures("integration-tests/src/a.rs", code), []);
    }

    #[test]
    fn a_doc_comment_does_not_begin_with_a_genitive() {
        assert_eq!(failures("a/src/b.rs", "fn a() {}\n/// Of the queue.\nx: u8"), [Some(2)]);
        assert_eq!(failures("a/src/b.rs", "/// One\n/// of the queues; offer them."), []);
        assert_eq!(failures("docs/a.md", "Of the queues, one is open."), []);
    }
}
