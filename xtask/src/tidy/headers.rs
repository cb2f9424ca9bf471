use crate::tidy::finding::Finding;
use crate::tidy::tree::Script;

/// Every `.sql` and `.lua` file begins with a comment: purpose, parameters, result, the index it
/// relies on, what it locks. A machine can see only that there is one; the rest is for review.
pub(crate) fn check(scripts: &[Script]) -> Vec<Finding> {
    let bare = scripts.iter().filter(|script| !has_header(&script.text));
    bare.map(|script| {
        let message = "begins without a header; say in `--` comments at its top: purpose, \
                       parameters, result, the index it relies on, what it locks";
        Finding::at(&script.path, 1, message)
    })
    .collect()
}

/// A comment with words in it: a line of dashes is none.
fn has_header(text: &str) -> bool {
    let lines = text.lines().map(str::trim).skip_while(|line| line.is_empty());
    let header = lines.take_while(|line| line.starts_with("--"));
    header.flat_map(str::chars).any(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> usize {
        check(&[Script { path: "queuekit-sqlite/sql/ack.sql".to_owned(), text: text.to_owned() }])
            .len()
    }

    #[test]
    fn a_script_without_a_header_fails() {
        for text in ["", "UPDATE jobs SET state = 2;", "--\n-----\nSELECT 1;", "SELECT 1; -- one"] {
            assert_eq!(findings(text), 1, "{text:?}");
        }
    }

    #[test]
    fn a_header_passes() {
        assert_eq!(findings("\n-- Acks one lease.\nUPDATE jobs SET state = 2;"), 0);
        assert_eq!(findings("------\n-- Acks.\nreturn 1"), 0);
    }
}
