use crate::tidy::finding::Finding;
use crate::tidy::source::Source;
use crate::tidy::tree::Page;

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

/// Pages and doc comments, which are also the help texts of commands, are written in plain English.
pub(crate) fn check(pages: &[Page], sources: &[Source]) -> Vec<Finding> {
    let pages = pages.iter().flat_map(|page| in_passages(&page.path, &passages(&page.text), &[]));
    let sources = sources.iter().flat_map(|source| {
        let comments = doc_comments(source);
        in_passages(&source.path, &comments, OPENINGS)
    });
    pages.chain(sources).collect()
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
        !is_code && !is_fence && !line.is_empty()
    });
    joined(prose)
}

fn doc_comments(source: &Source) -> Vec<Passage<'_>> {
    let lines = (1..).zip(source.text.lines());
    joined(lines.filter_map(|(number, line)| {
        let line = line.trim_start();
        let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?.trim();
        (!text.is_empty()).then_some((number, text))
    }))
}

fn joined<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<Passage<'a>> {
    let mut passages: Vec<Passage<'_>> = Vec::new();
    for (number, line) in lines {
        match passages.last_mut() {
            Some(last) if last.first + last.lines.len() == number => last.lines.push(line),
            _ => passages.push(Passage { first: number, lines: vec![line] }),
        }
    }
    passages
}

fn in_passages(path: &str, passages: &[Passage<'_>], openings: &[&str]) -> Vec<Finding> {
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

    fn failures(path: &str, text: &str) -> Vec<Option<usize>> {
        let pages = [Page { path: path.to_owned(), text: text.to_owned() }];
        let sources = [Source::new(path, text)];
        let findings =
            if path.ends_with(".rs") { check(&[], &sources) } else { check(&pages, &[]) };
        let failures = findings.into_iter().filter(|finding| finding.severity == Severity::Failure);
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
        let code = "// is told\nlet said = \"is told\";\n/// is\nfn told() {}\n/// told";
        assert_eq!(failures("a/src/b.rs", code), []);
    }

    #[test]
    fn a_doc_comment_does_not_begin_with_a_genitive() {
        assert_eq!(failures("a/src/b.rs", "fn a() {}\n/// Of the queue.\nx: u8"), [Some(2)]);
        assert_eq!(failures("a/src/b.rs", "/// One\n/// of the queues; offer them."), []);
        assert_eq!(failures("docs/a.md", "Of the queues, one is open."), []);
    }
}
