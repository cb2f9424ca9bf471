//! Metadata that is refused when it grows too large, and not when it has been read.

use std::fmt;

use queuekit::Metadata;
use queuekit::store::limits::METADATA_NAMES;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Most bytes of names and values (R12).
const METADATA_BYTES: usize = 4096;

/// Reads metadata, or null: `#[serde(deserialize_with = "metadata")]`.
pub(crate) fn metadata<'de, D>(from: D) -> Result<Option<Metadata>, D::Error>
where
    D: Deserializer<'de>,
{
    Option::<Small>::deserialize(from).map(|read| read.map(|Small(metadata)| metadata))
}

struct Small(Metadata);

impl<'de> Deserialize<'de> for Small {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Texts).map(Self)
    }
}

struct Texts;

impl<'de> Visitor<'de> for Texts {
    type Value = Metadata;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {METADATA_NAMES} texts by name, {METADATA_BYTES} bytes in all")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Metadata, A::Error> {
        let mut metadata = Metadata::default();
        let mut bytes = 0_usize;
        let mut names = 0;
        while let Some((name, value)) = from.next_entry::<String, String>()? {
            bytes += name.len() + value.len();
            if bytes > METADATA_BYTES {
                let limit = format_args!("more than {METADATA_BYTES} bytes; shorten it");
                return Err(A::Error::custom(limit));
            }
            // A name takes some hundred bytes of memory.
            names += 1;
            if names > METADATA_NAMES {
                let limit = format_args!("more than {METADATA_NAMES} names; leave some out");
                return Err(A::Error::custom(limit));
            }
            metadata.insert(name, value);
        }
        Ok(metadata)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct GivenBytes {
        #[serde(default, deserialize_with = "metadata")]
        metadata: Option<Metadata>,
    }

    #[test]
    fn s6_metadata_is_refused_at_the_byte_that_is_too_many() {
        let read =
            |text: &str| serde_json::from_str::<GivenBytes>(text).map(|given| given.metadata);
        assert!(read("{}").unwrap().is_none() && read(r#"{"metadata":null}"#).unwrap().is_none());
        let most = format!(r#"{{"metadata":{{"a":"{}"}}}}"#, "x".repeat(METADATA_BYTES - 1));
        assert_eq!(read(&most).unwrap().unwrap().bytes(), METADATA_BYTES);
        // What comes behind it is not looked at.
        let more = most.replace("\"}}", "\",\"b\":\"\"nonsense");
        let error = read(&more).unwrap_err().to_string();
        assert!(error.contains("more than 4096 bytes"), "{error}");
    }

    #[test]
    fn s6_metadata_is_refused_at_the_name_that_is_too_many() {
        let read = |names: usize, end: &str| {
            let names: Vec<_> = (0..names).map(|n| format!("\"{n}\":\"\"")).collect();
            let text = format!(r#"{{"metadata":{{{}{end}"#, names.join(","));
            serde_json::from_str::<GivenBytes>(&text).map(|given| given.metadata.unwrap().len())
        };
        assert_eq!(read(METADATA_NAMES, "}}").unwrap(), METADATA_NAMES);
        // What comes behind it is not looked at.
        let error = read(METADATA_NAMES + 1, "nonsense").unwrap_err().to_string();
        assert!(error.contains("more than 64 names"), "{error}");
    }
}
