//! The stored form of an event. lua/emit.lua has the layout.

use queuekit_core::event::{Event, EventId, NewEvent};
use queuekit_core::{Bytes, IdempotencyKey, Kind, PartitionKey, Result, Timestamp};
use queuekit_core::{Error, ErrorKind};

/// The version of new records.
const VERSION: char = '1';

/// Larger data is stored once, with its event, for any number of deliveries. Smaller data is copied
/// into each delivery, where it costs less than a look-up.
const LARGE: usize = 1024;

/// An event's record from its version on, without the data.
pub(super) fn write(event: &NewEvent) -> Result<Vec<u8>> {
    let key = event.partition_key().map_or("", |key| key.as_str());
    let unique = event.idempotency_key().map_or("", |key| key.as_str());
    let kind = event.kind().as_str();
    let head = format!(
        "{VERSION}{}{:03x}{:03x}{:03x}{:07x}{kind}{key}{unique}",
        u8::from(event.data().len() > LARGE),
        kind.len(),
        key.len(),
        unique.len(),
        event.data().len(),
    );
    let mut bytes = head.into_bytes();
    if !event.metadata().is_empty() {
        serde_json::to_writer(&mut bytes, event.metadata()).map_err(|error| {
            let message = "its metadata cannot be written";
            Error::new(ErrorKind::Corrupt, message).on(event.id()).caused_by(error)
        })?;
    }
    Ok(bytes)
}

/// Reads an event; none if it is malformed.
pub(super) fn read(id: EventId, record: Bytes) -> Option<Event> {
    let text = |from: usize, to: usize| std::str::from_utf8(record.get(from..to)?).ok();
    let hex = |from, to| u64::from_str_radix(text(from, to)?, 16).ok();
    let length = |from, to| hex(from, to).and_then(|length| usize::try_from(length).ok());
    let emitted_at = Timestamp::from_millis(i64::try_from(hex(0, 11)?).ok()?);
    let kind_to = 29 + length(13, 16)?;
    let key_to = kind_to + length(16, 19)?;
    let unique_to = key_to + length(19, 22)?;
    let data = record.len().checked_sub(length(22, 29)?)?;
    let metadata = Some(text(unique_to, data)?).filter(|text| !text.is_empty());
    let named = |from, to| text(from, to).filter(|name| !name.is_empty());
    let kind = Kind::new(text(29, kind_to)?).ok()?;
    let mut event = Event::bare(id, kind, record.slice(data..), emitted_at);
    event.partition_key = named(kind_to, key_to).map(PartitionKey::new).transpose().ok()?;
    event.idempotency_key = named(key_to, unique_to).map(IdempotencyKey::new).transpose().ok()?;
    event.metadata = metadata.map(serde_json::from_str).transpose().ok()?.unwrap_or_default();
    (text(11, 12)? == VERSION.encode_utf8(&mut [0; 1])).then_some(event)
}

#[cfg(test)]
mod tests {
    use queuekit_core::{EventDraft, Metadata};

    use super::*;

    #[test]
    fn an_event_is_read_as_it_was_written() {
        let metadata: Metadata = [("a", "b")].into_iter().collect();
        let bare = EventDraft::new("order.paid", "").build().unwrap();
        let full = EventDraft::new("k", vec![0, 255, b'}'])
            .partition_key("p")
            .idempotency_key("é i")
            .metadata(metadata)
            .build()
            .unwrap();
        for event in [bare, full] {
            let at = Timestamp::from_millis(1_767_225_600_123);
            let mut record = format!("{:011x}", at.as_millis()).into_bytes();
            record.extend(write(&event).unwrap());
            record.extend_from_slice(event.data());
            assert_eq!(read(event.id(), Bytes::from(record.clone())), Some(Event::new(&event, at)));
            for cut in 0..29 {
                assert_eq!(read(event.id(), Bytes::copy_from_slice(&record[..cut])), None);
            }
        }
    }
}
