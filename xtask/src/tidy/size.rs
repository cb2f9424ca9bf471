use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

/// From here on a file is asked to be split ...
const LINES_WARN: usize = 400;
/// ... and from here on it has to be.
const LINES_MAX: usize = 600;
const COLUMNS_MAX: usize = 100;

/// A file that is read in one sitting, and two of them side by side on one screen.
pub(crate) fn check(sources: &[Source]) -> Vec<Finding> {
    sources.iter().flat_map(|source| check_lines(source).chain(check_columns(source))).collect()
}

fn check_lines(source: &Source) -> impl Iterator<Item = Finding> {
    let count = source.text.lines().count();
    let over = |limit: usize| {
        let message = format!("{count} lines, over {limit}; split it by concept");
        Finding::file(&source.path, message)
    };
    let finding = match count {
        count if count > LINES_MAX => Some(over(LINES_MAX)),
        count if count > LINES_WARN => Some(over(LINES_WARN).into_warning()),
        _ => None,
    };
    finding.into_iter()
}

fn check_columns(source: &Source) -> impl Iterator<Item = Finding> {
    let lines = (1..).zip(source.text.lines());
    let long = lines.filter(|(_, line)| columns(line) > COLUMNS_MAX);
    long.map(|(number, line)| {
        let message = format!("{} columns, over {COLUMNS_MAX}; break the line", columns(line));
        Finding::at(&source.path, number, message)
    })
}

/// An address in a comment cannot be broken and does not count.
fn columns(line: &str) -> usize {
    let is_comment = line.trim_start().starts_with("//");
    let address = line.split_whitespace().find(|word| is_comment && word.contains("://"));
    line.chars().count() - address.map_or(0, |word| word.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::Severity;

    fn severities(text: &str) -> Vec<Severity> {
        let findings = check(&[Source::new("a.rs", text)]);
        findings.into_iter().map(|finding| finding.severity).collect()
    }

    #[test]
    fn long_files_warn_and_then_fail() {
        assert_eq!(severities(&"\n".repeat(400)), []);
        assert_eq!(severities(&"\n".repeat(401)), [Severity::Warning]);
        assert_eq!(severities(&"\n".repeat(600)), [Severity::Warning]);
        assert_eq!(severities(&"\n".repeat(601)), [Severity::Failure]);
    }

    #[test]
    fn long_lines_fail_and_are_counted_in_characters() {
        assert_eq!(severities(&"é".repeat(100)), []);
        let findings = check(&[Source::new("a.rs", &format!("\n{}", "é".repeat(101)))]);
        assert_eq!(findings[0].line, Some(2));
        assert_eq!(findings[0].severity, Severity::Failure);
    }

    #[test]
    fn an_address_in_a_comment_is_free_but_not_in_code() {
        let address = format!("https://example.org/{}", "x".repeat(100));
        assert_eq!(severities(&format!("/// [x]: {address}")), []);
        assert_eq!(severities(&format!("f(\"{address}\")")), [Severity::Failure]);
        let words = "word ".repeat(20);
        assert_eq!(severities(&format!("// {words} {address}")), [Severity::Failure]);
    }
}
