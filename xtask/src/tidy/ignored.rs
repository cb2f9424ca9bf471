use crate::tidy::finding::Finding;
use crate::tidy::source::{Source, has_word};

/// No test is switched off: an ignored test looks like a test and protects nothing. A test that
/// cannot run everywhere says so loudly when it runs. Clippy finds only those without a reason.
pub(crate) fn check(sources: &[Source]) -> Vec<Finding> {
    let found = |source: &Source| -> Vec<Finding> {
        let lines = source.code_lines().filter(|(_, line)| ignores_a_test(line));
        let message = "an ignored test protects nothing; make it run, or delete it";
        lines.map(|(number, _)| Finding::at(&source.path, number, message)).collect()
    };
    sources.iter().flat_map(found).collect()
}

/// `#[ignore]`, `#[ignore = ".."]` and `#[cfg_attr(.., ignore)]`.
fn ignores_a_test(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("#[")
        && has_word(line, "ignore")
        && (line.starts_with("#[ignore")
            || (line.starts_with("#[cfg_attr(")
                && line.split(", ").any(|part| part.starts_with("ignore"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> usize {
        check(&[Source::new("a.rs", text)]).len()
    }

    #[test]
    fn an_ignored_test_fails() {
        for text in ["#[ignore]", "    #[ignore = \"slow\"]", "#[cfg_attr(windows, ignore)]"] {
            assert_eq!(findings(text), 1, "{text}");
        }
    }

    #[test]
    fn prose_strings_and_other_names_pass() {
        for text in [
            "#[cfg_attr(a, schema(ignore))]",
            "// #[ignore]",
            "f(\"#[ignore]\")",
            "#[ignored]",
            "ignore()",
        ] {
            assert_eq!(findings(text), 0, "{text}");
        }
    }
}
