//! Stored bytes in JSON: which are shown as they are, and how deep JSON is nested.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::limits::JSON_DEPTH;

/// These bytes as a JSON value to be put into an answer or an event; `None` if they have to be in
/// base64. Those are bytes that are not JSON, and JSON nested more than [`JSON_DEPTH`] deep: many
/// parsers fail on it, and so on the whole answer.
#[must_use]
pub fn as_json(bytes: &[u8]) -> Option<&RawValue> {
    if json_depth(bytes) > JSON_DEPTH {
        return None;
    }
    let json = serde_json::from_slice::<&RawValue>(bytes).ok();
    // White space around the value is not part of it, and would be lost.
    json.filter(|json| json.get().len() == bytes.len())
}

/// The length of a text in JSON, without the quotes around it.
pub(crate) fn json_bytes(text: &str) -> usize {
    let added = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 1,
        0..=31 => 5,
        _ => 0,
    };
    text.len() + text.bytes().map(added).sum::<usize>()
}

/// Writes a value that is there.
pub(crate) fn put_given<M: SerializeMap, T: Serialize>(
    map: &mut M,
    name: &str,
    value: Option<T>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(name, &value))
}

/// Writes bytes in one of two fields: as the JSON that they are, or as base64.
pub(crate) fn put_bytes<M: SerializeMap>(
    map: &mut M,
    [value, base64]: [&str; 2],
    bytes: &[u8],
) -> Result<(), M::Error> {
    match as_json(bytes) {
        Some(json) => map.serialize_entry(value, json),
        None => map.serialize_entry(base64, &STANDARD.encode(bytes)),
    }
}

/// A value that is there, even if it is null: a payload may be.
pub(crate) fn there<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Deserialize::deserialize(from).map(Some)
}

/// The bytes that [`put_bytes`] wrote.
pub(crate) fn bytes_of<'de, D: Deserializer<'de>>(
    name: &str,
    json: Option<Box<RawValue>>,
    base64: Option<String>,
) -> Result<Option<Bytes>, D::Error> {
    match (json, base64) {
        (Some(json), _) => Ok(Some(Box::<str>::from(json).into_string().into())),
        (None, Some(text)) => match STANDARD.decode(text) {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(error) => Err(D::Error::custom(format!("{name}_base64 is not base64: {error}"))),
        },
        (None, None) => Ok(None),
    }
}

/// How deep lists and objects are nested; brackets in texts do not count.
#[must_use]
pub fn json_depth(json: &[u8]) -> usize {
    let (mut deepest, mut depth) = (0_usize, 0_usize);
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => skip_text(&mut bytes),
            _ => {}
        }
    }
    deepest
}

fn skip_text(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_depth_counts_brackets_outside_of_text() {
        for (json, wanted) in
            [("1", 0), ("[]", 1), (r#"{"a":[{}]}"#, 3), (r#"["[[\"[["]"#, 1), (r#""[""#, 0)]
        {
            assert_eq!(json_depth(json.as_bytes()), wanted, "{json}");
        }
        assert_eq!(json_depth("[".repeat(10_000).as_bytes()), 10_000);
    }

    #[test]
    fn r8_9_a_text_counts_as_json_writes_it() {
        for text in (0..=0x10_ffff).filter_map(char::from_u32).map(String::from) {
            assert_eq!(json_bytes(&text), serde_json::to_string(&text).unwrap().len() - 2);
        }
    }

    #[test]
    fn s6_json_that_is_nested_too_deep_for_parsers_is_bytes() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(as_json(nested(JSON_DEPTH).as_bytes()).is_some());
        assert!(as_json(nested(JSON_DEPTH + 1).as_bytes()).is_none());
    }

    #[test]
    fn json_is_shown_byte_for_byte_and_nothing_else_is() {
        for json in ["9007199254740993", r#"{"a" : 1e400,"a":[]}"#, r#""\ud800""#, "null"] {
            assert_eq!(as_json(json.as_bytes()).unwrap().get(), json);
        }
        for other in ["", " 1", "1\n", "{", "\u{0}", "NaN"] {
            assert!(as_json(other.as_bytes()).is_none(), "{other:?}");
        }
        assert!(as_json(&[0xff]).is_none());
    }
}
