//! Removes the values that were sent from messages of serde: any of them may be a secret, and
//! answers are logged on the way.
//!
//! serde_json writes its errors as text as soon as they are made, so the text is all there is to
//! take apart. Types of the core leave the value out themselves.

use std::fmt::Write;

use serde_path_to_error::{Path, Segment};

/// Longest name that a message repeats.
const NAME: usize = 64;

/// The message with what was expected and where, but without the value that was sent.
pub(crate) fn redact_values(message: &str) -> String {
    let (start, expected) = message.rsplit_once(", expected ").unwrap_or((message, ""));
    if let Some(name) = between(start, "unknown field `") {
        let known = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let name = if known && name.len() <= NAME { name } else { "this" };
        return format!("unknown field `{name}`, expected {expected}");
    }
    let repeats = ["invalid type: ", "invalid value: ", "invalid length ", "unknown variant `"];
    match repeats.iter().any(|repeat| start.contains(repeat)) {
        true => format!("expected {}", redact_types(expected)),
        false => message.to_owned(),
    }
}

/// The expectation of serde, without the names of types in this program.
fn redact_types(expected: &str) -> String {
    for (kind, said) in [("struct ", "an object"), ("enum ", "one of its names")] {
        if let Some(rest) = expected.strip_prefix(kind) {
            return format!("{said}{}", rest.find(' ').map_or("", |end| &rest[end..]));
        }
    }
    expected.to_owned()
}

/// The message without the line and the column that serde adds.
pub(crate) fn without_position(message: &str) -> &str {
    message.rsplit_once(" at line ").map_or(message, |(message, _)| message)
}

/// The path to a field, up to the first name in it that is not plain: names were sent as well.
pub(crate) fn redact_path(path: &Path) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let mut plain = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => drop(write!(plain, "[{index}]")),
            Segment::Map { key: name } | Segment::Enum { variant: name }
                if plain.len() + name.len() <= NAME && name.bytes().all(is_plain) =>
            {
                plain.push_str(if plain.is_empty() { "" } else { "." });
                plain.push_str(name);
            }
            _ => break,
        }
    }
    if plain.is_empty() { "body".to_owned() } else { plain }
}

fn between<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    rest.strip_suffix('`')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s9_what_was_expected_is_said_and_no_value() {
        for (message, said) in [
            (
                "invalid type: string \"hunter2, expected\", expected u32 at line 1 column 9",
                "expected u32 at line 1 column 9",
            ),
            (
                "unknown variant `hunter2`, expected `retry` or `fatal`",
                "expected `retry` or `fatal`",
            ),
            ("unknown field `queu`, expected `queue`", "unknown field `queu`, expected `queue`"),
            ("unknown field `hunter 2`, expected `a`", "unknown field `this`, expected `a`"),
            ("missing field `kind`", "missing field `kind`"),
            (
                "invalid type: string \"x\", expected struct NewJobBody at line 1 column 3",
                "expected an object at line 1 column 3",
            ),
            ("invalid type: integer `1`, expected enum KindBody", "expected one of its names"),
        ] {
            assert_eq!(redact_values(message), said);
        }
    }
}
