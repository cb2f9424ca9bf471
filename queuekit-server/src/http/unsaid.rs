//! What parsers and checks say, without the values that were sent: any of them may be a secret, and
//! answers are logged on the way.

/// Longest name that is repeated.
const NAME: usize = 64;

/// The same, with what was expected and where, and without what was there instead.
pub(crate) fn without_values(message: &str) -> String {
    if let Some((said, _)) = message.split_once("; got ") {
        return said.to_owned();
    }
    let (start, expected) = message.rsplit_once(", expected ").unwrap_or((message, ""));
    if let Some(name) = between(start, "unknown field `") {
        let known = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let name = if known && name.len() <= NAME { name } else { "this" };
        return format!("unknown field `{name}`, expected {expected}");
    }
    let repeats = ["invalid type: ", "invalid value: ", "invalid length ", "unknown variant `"];
    match repeats.iter().any(|repeat| start.contains(repeat)) {
        true => format!("expected {}", without_types(expected)),
        false => message.to_owned(),
    }
}

/// What serde expects of a type, without the name that the type has in this program.
fn without_types(expected: &str) -> String {
    for (kind, said) in [("struct ", "an object"), ("enum ", "one of its names")] {
        if let Some(rest) = expected.strip_prefix(kind) {
            return format!("{said}{}", rest.find(' ').map_or("", |end| &rest[end..]));
        }
    }
    expected.to_owned()
}

/// A path to a field, which names that were sent may be part of: what is no plain one is left out.
pub(crate) fn plain(path: &str) -> &str {
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
            ("queue must be a name; got \"hunter2\"", "queue must be a name"),
            ("priority must be 0..=31; got 32", "priority must be 0..=31"),
            ("missing field `type`", "missing field `type`"),
            (
                "invalid type: string \"x\", expected struct NewJobBody at line 1 column 3",
                "expected an object at line 1 column 3",
            ),
            ("invalid type: integer `1`, expected enum KindBody", "expected one of its names"),
        ] {
            assert_eq!(without_values(message), said);
        }
    }
}
