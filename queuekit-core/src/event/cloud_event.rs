//! Reads and writes events as CloudEvents 1.0 in JSON.
//!
//! If an event has no field for an attribute, the attribute is in its metadata, under a name that
//! begins with `ce_`. Source: the CloudEvents specification 1.0.2 and its JSON format.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp as Instant;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::{Event, EventDraft};
use crate::digest;
use crate::error::{Error, ErrorKind, Result};
use crate::job::Metadata;
use crate::json::as_json;
use crate::limits::METADATA_NAMES;

/// Prefix of attributes in the metadata.
const PREFIX: &str = "ce_";
/// The source of events that were not read from a CloudEvent.
const SOURCE: &str = "queuekit";
/// The extension for the partition key (Partitioning extension 1.0).
const PARTITION_KEY: &str = "partitionkey";

/// Attributes that need more JSON than this would exceed the limit of metadata in any case (R12).
const ATTRIBUTE_BYTES: usize = 32 * 1024;
/// The partition key is one too, and is no metadata.
const ATTRIBUTES: usize = METADATA_NAMES + 1;

/// A CloudEvent as it is read and written. `others` has the attributes that have no field here.
#[derive(Serialize, Deserialize)]
struct Written<'a> {
    specversion: String,
    id: String,
    source: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    data: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data_base64: Option<String>,
}

impl EventDraft {
    /// Reads a CloudEvent in JSON. Its `data` is stored byte for byte, and its other attributes
    /// become metadata. The extension `partitionkey` becomes the partition key. `id` and `source`
    /// together become the idempotency key, so an event of one type that arrives twice is stored
    /// once.
    ///
    /// # Errors
    /// `Invalid` if the text is not a CloudEvent of version 1.0. [`build`](Self::build) checks its
    /// parts.
    pub fn from_cloud_event(json: &[u8]) -> Result<Self> {
        let refuse = |why: String| Error::invalid("event", "a CloudEvent 1.0 in JSON", why);
        let written: Written<'_> =
            serde_json::from_slice(json).map_err(|error| refuse(error.to_string()))?;
        if written.specversion != "1.0" {
            return Err(refuse(format!("specversion {:?}", written.specversion)));
        }
        if written.id.is_empty() || written.source.is_empty() {
            return Err(refuse("an empty id or source".to_owned()));
        }
        let mut metadata = attributes(json)?;
        let is_json = metadata.get("datacontenttype").is_none_or(|of| of.contains("json"));
        let data = match (written.data, written.data_base64) {
            // Text of another content type is in a JSON string.
            (Some(data), None) if !is_json && data.get().starts_with('"') => {
                let text: String =
                    serde_json::from_str(data.get()).map_err(|error| refuse(error.to_string()))?;
                text.into_bytes()
            }
            (Some(data), None) => data.get().as_bytes().to_vec(),
            (None, Some(text)) => STANDARD.decode(text).map_err(|error| {
                refuse("data_base64 that is no base64".to_owned()).caused_by(error)
            })?,
            (None, None) => Vec::new(),
            (Some(_), Some(_)) => return Err(refuse("data and data_base64".to_owned())),
        };
        let digest = Sha256::new().chain_update(&written.source).chain_update(b"\0");
        let digest = digest.chain_update(&written.id).finalize();
        let partition_key = metadata.remove(PARTITION_KEY);
        let metadata: Metadata =
            metadata.into_iter().map(|(name, text)| (format!("{PREFIX}{name}"), text)).collect();
        let draft = Self::new(written.kind, data).metadata(metadata);
        let draft = draft.idempotency_key(format!("ce:{}", digest::hex(&digest)));
        Ok(match partition_key {
            Some(key) => draft.partition_key(key),
            None => draft,
        })
    }
}

/// The attributes other than version, type and data, as far as metadata has room for them.
struct Attributes<'a>(BTreeMap<String, &'a RawValue>);

impl<'de> Deserialize<'de> for Attributes<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        from.deserialize_map(Few)
    }
}

struct Few;

impl<'de> Visitor<'de> for Few {
    type Value = Attributes<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(
        self,
        mut from: A,
    ) -> std::result::Result<Self::Value, A::Error> {
        let (mut all, mut bytes) = (BTreeMap::new(), 0);
        while let Some((name, value)) = from.next_entry::<String, &RawValue>()? {
            if ["specversion", "type", "data", "data_base64"].contains(&name.as_str()) {
                continue;
            }
            bytes += name.len() + value.get().len();
            if bytes > ATTRIBUTE_BYTES || all.len() >= ATTRIBUTES {
                return Err(A::Error::custom("more attributes than an event holds"));
            }
            all.insert(name, value);
        }
        Ok(Attributes(all))
    }
}

/// The attributes other than version, type and data, as text.
fn attributes(json: &[u8]) -> Result<BTreeMap<String, String>> {
    let refuse = |why: String| Error::invalid("event", "a CloudEvent 1.0 in JSON", why);
    let Attributes(all) =
        serde_json::from_slice(json).map_err(|error| refuse(error.to_string()))?;
    let mut texts = BTreeMap::new();
    for (name, value) in all {
        let value = value.get();
        let text = match value.as_bytes().first() {
            Some(b'"') => serde_json::from_str(value).map_err(|error| refuse(error.to_string()))?,
            Some(b'{' | b'[') => return Err(refuse(format!("{name} with a list or an object"))),
            _ if value == "null" => continue,
            _ => value.to_owned(),
        };
        texts.insert(name, text);
    }
    Ok(texts)
}

impl Event {
    /// Writes the event as a CloudEvent in JSON. JSON nested at most 64 deep becomes `data`, byte
    /// for byte; other data becomes `data_base64`.
    ///
    /// # Errors
    /// `Corrupt` if the event cannot be written.
    pub fn to_cloud_event(&self) -> Result<String> {
        let attribute = |name: &str| self.metadata.get(&format!("{PREFIX}{name}"));
        let is_json = attribute("datacontenttype").is_none_or(|of| of.contains("json"));
        let data = as_json(&self.data).filter(|_| is_json);
        let head = Written {
            specversion: "1.0".to_owned(),
            id: attribute("id").map_or_else(|| self.id.to_string(), str::to_owned),
            source: attribute("source").unwrap_or(SOURCE).to_owned(),
            kind: self.kind.to_string(),
            data,
            data_base64: (data.is_none() && !self.data.is_empty())
                .then(|| STANDARD.encode(&self.data)),
        };
        let mut rest: BTreeMap<&str, String> = BTreeMap::new();
        if let Ok(at) = Instant::from_millisecond(self.emitted_at.as_millis()) {
            rest.insert("time", at.to_string());
        }
        for (name, text) in self.metadata.iter() {
            match name.strip_prefix(PREFIX) {
                Some("id" | "source" | "type" | "data" | "data_base64" | "specversion") | None => {}
                Some(name) => drop(rest.insert(name, text.to_owned())),
            }
        }
        if let Some(key) = &self.partition_key {
            rest.insert(PARTITION_KEY, key.to_string());
        }
        write(&head, &rest).map_err(|error| {
            let message = "the event cannot be written as JSON";
            Error::new(ErrorKind::Corrupt, message).on(self.id).caused_by(error)
        })
    }
}

/// The attributes follow the rest. A flattened field would parse and write them again, and the data
/// with them.
fn write(head: &Written<'_>, rest: &BTreeMap<&str, String>) -> serde_json::Result<String> {
    let mut json = serde_json::to_string(head)?;
    if !rest.is_empty() {
        json.pop();
        json.push(',');
        json.push_str(&serde_json::to_string(rest)?[1..]);
    }
    Ok(json)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    const GIVEN: &str = r#"{"specversion":"1.0","id":"A-1","source":"/shop","type":"order.paid",
        "subject":"42","time":"2026-01-01T00:00:00Z","partitionkey":"k","sequence":7,
        "data":{"amount":12345678901234567890, "rate": 1.10}}"#;

    fn stored(json: &str) -> Event {
        let event = EventDraft::from_cloud_event(json.as_bytes()).unwrap().build().unwrap();
        Event::new(&event, Timestamp::from_millis(1_767_225_600_000))
    }

    #[test]
    fn data_is_stored_byte_for_byte_and_attributes_come_back() {
        let event = stored(GIVEN);
        assert_eq!(event.data, r#"{"amount":12345678901234567890, "rate": 1.10}"#);
        assert_eq!(event.partition_key.as_ref().unwrap().as_str(), "k");
        assert_eq!(event.metadata.get("ce_subject"), Some("42"));
        let written = event.to_cloud_event().unwrap();
        assert!(written.contains(r#""data":{"amount":12345678901234567890, "rate": 1.10}"#));
        let again = stored(&written);
        assert_eq!((again.data, again.kind), (event.data, event.kind));
        assert_eq!(again.metadata, event.metadata);
        assert_eq!(again.idempotency_key, event.idempotency_key);
        assert_eq!(again.partition_key, event.partition_key);
    }

    #[test]
    fn bytes_and_no_data_travel_too() {
        let bytes = r#"{"specversion":"1.0","id":"1","source":"s","type":"t",
            "datacontenttype":"image/png","data_base64":"AAH/"}"#;
        let event = stored(bytes);
        assert_eq!(event.data, [0, 1, 255][..]);
        assert!(event.to_cloud_event().unwrap().contains(r#""data_base64":"AAH/""#));
        let text = r#"{"specversion":"1.0","id":"1","source":"s","type":"t",
            "datacontenttype":"text/xml","data":"<a b=\"c\"/>"}"#;
        assert_eq!(stored(text).data, r#"<a b="c"/>"#);
        let empty = stored(r#"{"specversion":"1.0","id":"1","source":"s","type":"t"}"#);
        assert!(empty.data.is_empty() && !empty.to_cloud_event().unwrap().contains("data"));
    }

    #[test]
    fn s6_data_that_is_nested_too_deep_for_parsers_comes_back_from_base64() {
        let deep = "[".repeat(65) + &"]".repeat(65);
        for data in [&deep, " 1"] {
            let event = EventDraft::new("t", data.to_owned()).build().unwrap();
            let event = Event::new(&event, Timestamp::from_millis(1_767_225_600_000));
            let written = event.to_cloud_event().unwrap();
            assert!(written.contains("data_base64"), "{written}");
            assert_eq!(stored(&written).data, data);
        }
    }

    #[test]
    fn one_that_was_emitted_here_has_id_source_and_time() {
        let event = EventDraft::new("t", "{}").build().unwrap();
        let event = Event::new(&event, Timestamp::from_millis(1_767_225_600_000));
        let written = event.to_cloud_event().unwrap();
        let wanted = [
            r#"{"specversion":"1.0","id":""#,
            &event.id.to_string(),
            r#"","source":"queuekit","type":"t","data":{},"time":"2026-01-01T00:00:00Z"}"#,
        ];
        assert_eq!(written, wanted.concat());
    }

    #[test]
    fn what_is_no_cloud_event_is_refused_with_the_reason() {
        for (json, why) in [
            ("[]", "expected struct"),
            ("{", "EOF"),
            (r#"{"specversion":"0.3","id":"1","source":"s","type":"t"}"#, "0.3"),
            (r#"{"specversion":"1.0","id":"","source":"s","type":"t"}"#, "empty"),
            (r#"{"specversion":"1.0","source":"s","type":"t"}"#, "id"),
            (r#"{"specversion":"1.0","id":"1","source":"s","type":"t","x":{}}"#, "x"),
            (
                r#"{"specversion":"1.0","id":"1","source":"s","type":"t","data_base64":"?"}"#,
                "base64",
            ),
        ] {
            let error = EventDraft::from_cloud_event(json.as_bytes()).unwrap_err();
            assert!(error.to_string().contains(why), "{json}: {error}");
        }
        let many: String = (0..20_000).map(|n| format!(r#","a{n}":1"#)).collect();
        let many = format!(r#"{{"specversion":"1.0","id":"1","source":"s","type":"t"{many}}}"#);
        let error = EventDraft::from_cloud_event(many.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("more attributes"), "{error}");
        let bad_type = r#"{"specversion":"1.0","id":"1","source":"s","type":"a b"}"#;
        assert!(EventDraft::from_cloud_event(bad_type.as_bytes()).unwrap().build().is_err());
    }
}
