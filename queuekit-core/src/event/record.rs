//! A stored event.

use bytes::Bytes;

use super::{EventId, NewEvent};
use crate::clock::Timestamp;
use crate::job::Metadata;
use crate::names::{IdempotencyKey, Kind, PartitionKey};

/// An event of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each name says it; what does not is documented")]
pub struct Event {
    pub id: EventId,
    /// The event type.
    pub kind: Kind,
    /// The data, byte for byte as it was emitted.
    pub data: Bytes,
    pub partition_key: Option<PartitionKey>,
    pub idempotency_key: Option<IdempotencyKey>,
    pub metadata: Metadata,
    /// When the event was stored.
    pub emitted_at: Timestamp,
}

impl Event {
    /// An event with these fields only; stores set the others.
    pub fn bare(id: EventId, kind: Kind, data: Bytes, emitted_at: Timestamp) -> Self {
        Self {
            id,
            kind,
            data,
            partition_key: None,
            idempotency_key: None,
            metadata: Metadata::default(),
            emitted_at,
        }
    }

    /// An event as it is right after its emit.
    pub fn new(event: &NewEvent, emitted_at: Timestamp) -> Self {
        Self {
            partition_key: event.partition_key.clone(),
            idempotency_key: event.idempotency_key.clone(),
            metadata: event.metadata.clone(),
            ..Self::bare(event.id, event.kind.clone(), event.data.clone(), emitted_at)
        }
    }

    /// The bytes that count towards those of an answer (contract R8.9).
    pub fn bytes(&self) -> usize {
        self.data.len() + self.metadata.json_bytes()
    }

    /// The same event, for another delivery.
    pub(super) fn again(&self) -> NewEvent {
        NewEvent {
            repeat: true,
            id: self.id,
            kind: self.kind.clone(),
            data: self.data.clone(),
            partition_key: self.partition_key.clone(),
            idempotency_key: None,
            metadata: self.metadata.clone(),
            delay: std::time::Duration::ZERO,
            merged: false,
        }
    }
}
