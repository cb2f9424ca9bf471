use crate::tidy::finding::Finding;
use crate::tidy::source::{Source, has_word};

const MACROS: &[&str] = &["todo", "unimplemented", "dbg"];

/// Nothing unfinished is committed, and no test is switched off: an ignored test looks like a test
/// and protects nothing. What cannot run everywhere says so loudly when it runs.
pub(crate) fn check(sources: &[Source]) -> Vec<Finding> {
    let found = |source: &Source| -> Vec<Finding> {
        let lines = source.code_lines();
        let at = |(number, message)| Finding::at(&source.path, number, message);
        lines.flat_map(|(number, line)| leftovers(line).map(move |m| (number, m))).map(at).collect()
    };
    sources.iter().flat_map(found).collect()
}

fn leftovers(line: &str) -> impl Iterator<Item = String> {
    let ignored = ignores_a_test(line)
        .then(|| "an ignored test protects nothing; make it run, or delete it".to_owned());
    let unfinished = MACROS
        .iter()
        .filter(|name| calls(line, name))
        .map(|name| format!("`{name}!` is not for a commit; finish it or take it out"));
    ignored.into_iter().chain(unfinished)
}

/// `#[ignore]`, `#[ignore = ".."]` and `#[cfg_attr(.., ignore)]`.
fn ignores_a_test(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("#[")
        && has_word(line, "ignore")
        && (line.starts_with("#[ignore") || line.starts_with("#[cfg_attr("))
}

fn calls(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let mut after = line[at + name.len()..].chars();
        let whole = !before.is_some_and(|c| c.is_alphanumeric() || c == '_');
        whole && after.next() == Some('!') && matches!(after.next(), Some('(' | '[' | '{'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> usize {
        check(&[Source::new("a.rs", text)]).len()
    }

    #[test]
    fn each_leftover_fails() {
        let leftovers = [
            "#[ignore]",
            "    #[ignore = \"slow\"]",
            "#[cfg_attr(windows, ignore)]",
            "todo!()",
            "std::unimplemented!(\"later\")",
            "let x = dbg!(y);",
        ];
        for text in leftovers {
            assert_eq!(findings(text), 1, "{text}");
        }
        assert_eq!(findings("dbg!(todo!())"), 2);
    }

    #[test]
    fn prose_strings_and_other_names_pass() {
        for text in ["// todo!()", "f(\"#[ignore]\")", "my_todo!()", "todo != x", "#[ignored]"] {
            assert_eq!(findings(text), 0, "{text}");
        }
    }
}
