//! Removes the values that were sent from messages of serde: any of them may be a secret, and
//! answers are logged on the way.
//!
//! serde_json writes its errors as text as soon as they are made, so the text is all there is to
//! take apart. Types of the core leave the value out themselves.

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

/// The path to a field. It may contain names that were sent; a path that is not plain is left out.
pub(crate) fn redact_path(path: &str) -> &str {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.[]".contains(&byte);
    if path.len() <= NAME && path.bytes().all(is_plain) { path } else { "body" }
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
