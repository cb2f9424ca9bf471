//! Takes long strings out of JSON, so that an error about it is short.
//!
//! serde repeats the name or the value that it refuses in its message, and each layer above copies
//! the message. With a name of 16 MiB, one refused body would take ten times its own memory.

/// Longest string that an error may repeat, between its quotes.
const LONG: usize = 16 * 1024;
/// Stands for a long string: base64, and longer than any name may be.
const STAND_IN: [u8; 1024] = [b'A'; 1024];

/// The same JSON with short strings in place of long ones; `None` if it has no long string.
pub(crate) fn without_long_strings(json: &[u8]) -> Option<Vec<u8>> {
    let mut short: Option<Vec<u8>> = None;
    let (mut copied, mut at) = (0, 0);
    while let Some(quote) = json[at..].iter().position(|byte| *byte == b'"') {
        let start = at + quote + 1;
        let end = end_of_string(json, start);
        if end - start > LONG {
            let short = short.get_or_insert_default();
            short.extend_from_slice(&json[copied..start]);
            short.extend_from_slice(&STAND_IN);
            copied = end;
        }
        at = json.len().min(end + 1);
    }
    short.as_mut()?.extend_from_slice(&json[copied..]);
    short
}

/// Where the quote is that ends the string, or where the JSON ends.
fn end_of_string(json: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(found) = json[at..].iter().position(|byte| matches!(byte, b'"' | b'\\')) {
        at += found;
        if json[at] == b'"' {
            return at;
        }
        // What follows a backslash ends no string.
        at = json.len().min(at + 2);
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(json: &str) -> Option<String> {
        without_long_strings(json.as_bytes()).map(|short| String::from_utf8(short).unwrap())
    }

    #[test]
    fn s6_only_strings_beyond_the_bound_are_replaced() {
        let stand_in = "A".repeat(1024);
        let (kept, long) = ("é\\\"\\\\".repeat(LONG / 6), "é\\\"\\\\".repeat(LONG / 6 + 1));
        assert_eq!(short(&format!(r#"{{"{kept}": ["{kept}", 1, ""]}}"#)), None);
        assert_eq!(
            short(&format!(r#"{{"a\\": ["{long}", "{kept}"], "{long}": "{long}", "b": "\"" }}"#)),
            Some(format!(
                r#"{{"a\\": ["{stand_in}", "{kept}"], "{stand_in}": "{stand_in}", "b": "\"" }}"#
            ))
        );
    }

    #[test]
    fn s6_a_string_that_does_not_end_is_replaced_to_the_end() {
        let stand_in = "A".repeat(1024);
        for end in ["", "\\", "\\\\", "\\\""] {
            let json = format!(r#"["b", "{}{end}"#, "a".repeat(LONG + 1));
            assert_eq!(short(&json), Some(format!(r#"["b", "{stand_in}"#)), "{end}");
        }
        for json in ["", "\"", "\"\\", "\"\"\""] {
            assert_eq!(short(json), None, "{json}");
        }
    }
}
