//! The JSON form of an event: the one that the HTTP API shows and that its clients read.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{Event, EventId, NewEvent};
use crate::clock::Timestamp;
use crate::duration_ms;
use crate::job::Metadata;
use crate::json::{bytes_of, put_bytes, put_given, there};
use crate::names::{IdempotencyKey, Kind, PartitionKey};
use crate::openapi::schema_of_form;
use crate::rfc3339::{self, Rfc3339};

/// As JSON: an item of `GET /v1/events` (`docs/http.md`). `data` or `data_base64` has the bytes, as
/// in the form of a [`Job`](crate::Job). Absent values are left out.
impl Serialize for Event {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("type", &self.kind)?;
        put_bytes(&mut map, ["data", "data_base64"], &self.data)?;
        put_given(&mut map, "partition_key", self.partition_key.as_ref())?;
        put_given(&mut map, "idempotency_key", self.idempotency_key.as_ref())?;
        map.serialize_entry("metadata", &self.metadata)?;
        map.serialize_entry("emitted_at", &Rfc3339(self.emitted_at))?;
        map.end()
    }
}

/// As JSON: an object that the HTTP API and the SQL function `emit` take. The data is in
/// `data_base64`, so that its bytes pass through every reader of JSON as they are.
impl Serialize for NewEvent {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("type", &self.kind)?;
        map.serialize_entry("data_base64", &STANDARD.encode(&self.data))?;
        put_given(&mut map, "partition_key", self.partition_key.as_ref())?;
        put_given(&mut map, "idempotency_key", self.idempotency_key.as_ref())?;
        map.serialize_entry("metadata", &self.metadata)?;
        map.serialize_entry("delay_ms", &duration_ms::of(duration_ms::whole(self.delay)))?;
        map.end()
    }
}

/// Fields that this version does not know are passed over.
impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let shown = Shown::deserialize(from)?;
        let data = bytes_of::<D>("data", shown.data, shown.data_base64)?;
        Ok(Self {
            id: shown.id,
            kind: shown.kind,
            data: data.unwrap_or_default(),
            partition_key: shown.partition_key,
            idempotency_key: shown.idempotency_key,
            metadata: shown.metadata,
            emitted_at: shown.emitted_at,
        })
    }
}

/// An event of the log.
#[derive(Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Event))]
struct Shown {
    id: EventId,
    #[serde(rename = "type")]
    kind: Kind,
    #[serde(default, deserialize_with = "there")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    data: Option<Box<RawValue>>,
    data_base64: Option<String>,
    partition_key: Option<PartitionKey>,
    idempotency_key: Option<IdempotencyKey>,
    metadata: Metadata,
    #[serde(with = "rfc3339")]
    #[cfg_attr(feature = "openapi", schema(value_type = Rfc3339))]
    emitted_at: Timestamp,
}

schema_of_form!(Event, Shown);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read_as_it_was_shown() {
        let at = Timestamp::from_millis(1_767_225_600_007);
        let id = EventId::generate(at);
        for data in [&b"null"[..], br#"{"a":1.0}"#, b"", b"\xff"] {
            let kind = Kind::new("order.placed").unwrap();
            let mut event = Event::bare(id, kind, data.into(), at);
            for key in [None, Some("7".try_into().unwrap())] {
                event.partition_key = key;
                let shown = serde_json::to_string(&event).unwrap();
                assert_eq!(serde_json::from_str::<Event>(&shown).unwrap(), event, "{shown}");
            }
        }
    }
}
