//! The stored form of an event.

use queuekit_core::event::{Event, EventId, NewEvent};
use queuekit_core::{Bytes, Error, ErrorKind, IdempotencyKey, Kind, PartitionKey, Result};

use crate::layout::EVENT;
use crate::layout::bytes::{Parts, put};

/// The version of new records.
const VERSION: u8 = b'1';

/// Larger data is stored once, with its event, for any number of deliveries. Smaller data is copied
/// into each delivery, where it costs less than a look-up.
const LARGE: usize = 1024;

/// An event's record from its version on, without the data.
pub(super) fn write(event: &NewEvent) -> Result<Vec<u8>> {
    let key = event.partition_key().map_or("", |key| key.as_str());
    let unique = event.idempotency_key().map_or("", |key| key.as_str());
    let kind = event.kind().as_str();
    let mut head = [b'0'; EVENT.head.end];
    head[EVENT.version.start] = VERSION;
    put(&mut head, EVENT.apart, (event.data().len() > LARGE).into());
    put(&mut head, EVENT.kind, kind.len());
    put(&mut head, EVENT.key, key.len());
    put(&mut head, EVENT.unique, unique.len());
    put(&mut head, EVENT.data, event.data().len());
    let mut bytes = head[EVENT.written].to_vec();
    [kind, key, unique].iter().for_each(|name| bytes.extend_from_slice(name.as_bytes()));
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
    let parts = Parts(&record);
    let emitted_at = parts.time(EVENT.emitted)?;
    let kind_to = EVENT.head.end + parts.length(EVENT.kind)?;
    let key_to = kind_to + parts.length(EVENT.key)?;
    let unique_to = key_to + parts.length(EVENT.unique)?;
    let data = record.len().checked_sub(parts.length(EVENT.data)?)?;
    parts.text(unique_to..data)?;
    let metadata = parts.named(unique_to..data);
    let kind = Kind::new(parts.text(EVENT.head.end..kind_to)?).ok()?;
    let (key, unique) = (parts.named(kind_to..key_to), parts.named(key_to..unique_to));
    let mut event = Event::bare(id, kind, record.slice(data..), emitted_at);
    event.partition_key = key.map(PartitionKey::new).transpose().ok()?;
    event.idempotency_key = unique.map(IdempotencyKey::new).transpose().ok()?;
    event.metadata = metadata.map(serde_json::from_str).transpose().ok()?.unwrap_or_default();
    (record.get(EVENT.version.start) == Some(&VERSION)).then_some(event)
}

#[cfg(test)]
mod tests {
    use queuekit_core::{EventDraft, Metadata, Timestamp};

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
            let mut record = format!("{:01$x}", at.as_millis(), EVENT.emitted.len()).into_bytes();
            record.extend(write(&event).unwrap());
            record.extend_from_slice(event.data());
            assert_eq!(read(event.id(), Bytes::from(record.clone())), Some(Event::new(&event, at)));
            for cut in EVENT.head {
                assert_eq!(read(event.id(), Bytes::copy_from_slice(&record[..cut])), None);
            }
        }
    }
}
