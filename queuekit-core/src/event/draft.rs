//! An event that is being described.

use std::time::Duration;

use bytes::Bytes;

use super::EventId;
use crate::clock::{Clock, SystemClock};
use crate::error::{Error, Result};
use crate::job::{Metadata, Payload};
use crate::limits::{DELAY, PAYLOAD_BYTES_HARD};
use crate::names::{IdempotencyKey, Kind, PartitionKey};

/// Describes an event; [`build`](Self::build) checks everything and names what is wrong.
#[derive(Clone, Debug)]
#[must_use = "a draft emits nothing"]
pub struct EventDraft {
    event: Result<NewEvent>,
}

/// An event that obeys every limit: only [`EventDraft::build`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    pub(super) id: EventId,
    pub(super) kind: Kind,
    pub(super) data: Bytes,
    pub(super) partition_key: Option<PartitionKey>,
    pub(super) idempotency_key: Option<IdempotencyKey>,
    pub(super) metadata: Metadata,
    pub(super) delay: Duration,
    pub(super) merged: bool,
    pub(super) repeat: bool,
}

impl EventDraft {
    /// An event of this type with these bytes. The type is the kind of its deliveries.
    pub fn new<K>(kind: K, data: impl Into<Bytes>) -> Self
    where
        K: TryInto<Kind, Error: Into<Error>>,
    {
        let data = data.into();
        let event = kind.try_into().map_err(Into::into).and_then(|kind| {
            if data.len() > PAYLOAD_BYTES_HARD {
                let got = format!("{} bytes", data.len());
                return Err(Error::invalid("data", "at most 16 MiB", got));
            }
            Ok(NewEvent {
                // Ids only sort roughly by age: no rule rests on this clock.
                id: EventId::generate(SystemClock::default().now()),
                kind,
                data,
                partition_key: None,
                idempotency_key: None,
                metadata: Metadata::default(),
                delay: Duration::ZERO,
                merged: false,
                repeat: false,
            })
        });
        Self { event }
    }

    /// An event with this payload, of the type that is the payload's kind.
    pub fn of<P: Payload>(payload: &P) -> Self {
        match payload.encode() {
            Ok(bytes) => Self::new(P::KIND, bytes),
            Err(error) => Self { event: Err(error) },
        }
    }

    /// Consumers that want order get the events of one key one after the other (R14.3).
    pub fn partition_key<K>(self, key: K) -> Self
    where
        K: TryInto<PartitionKey, Error: Into<Error>>,
    {
        self.check(|event| {
            event.partition_key = Some(key.try_into().map_err(Into::into)?);
            Ok(())
        })
    }

    /// Only one event with this key is stored, as long as it is in the log (R14.2).
    pub fn idempotency_key<K>(self, key: K) -> Self
    where
        K: TryInto<IdempotencyKey, Error: Into<Error>>,
    {
        self.check(|event| {
            event.idempotency_key = Some(key.try_into().map_err(Into::into)?);
            Ok(())
        })
    }

    /// Small facts that travel with it and with its deliveries (default none).
    pub fn metadata(self, metadata: impl Into<Metadata>) -> Self {
        let metadata = metadata.into();
        self.check(|event| {
            event.metadata = metadata;
            Ok(())
        })
    }

    /// Its deliveries wait this long (default 0); at most 366 days.
    pub fn delay(self, delay: Duration) -> Self {
        self.check(|event| {
            if delay > DELAY {
                return Err(Error::invalid("delay", "at most 366 days", format!("{delay:?}")));
            }
            event.delay = delay;
            Ok(())
        })
    }

    /// An id made earlier, for a call that may be repeated.
    pub fn id(self, id: EventId) -> Self {
        self.check(|event| {
            event.id = id;
            event.repeat = true;
            Ok(())
        })
    }

    /// The event, checked.
    ///
    /// # Errors
    /// `Invalid`, naming the first field that breaks its limit.
    pub fn build(self) -> Result<NewEvent> {
        self.event
    }

    fn check(mut self, set: impl FnOnce(&mut NewEvent) -> Result<()>) -> Self {
        if let Ok(event) = &mut self.event
            && let Err(error) = set(event)
        {
            self.event = Err(error);
        }
        self
    }
}

/// It may have been emitted before: whoever has it can do so.
impl From<NewEvent> for EventDraft {
    fn from(event: NewEvent) -> Self {
        Self { event: Ok(NewEvent { repeat: true, ..event }) }
    }
}

impl<P: Payload> From<P> for EventDraft {
    fn from(payload: P) -> Self {
        Self::of(&payload)
    }
}

impl NewEvent {
    /// Its id, made by the client.
    pub fn id(&self) -> EventId {
        self.id
    }

    /// Its type.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Its data, stored byte for byte.
    pub fn data(&self) -> &Bytes {
        &self.data
    }

    /// Its partition key.
    pub fn partition_key(&self) -> Option<&PartitionKey> {
        self.partition_key.as_ref()
    }

    /// Its idempotency key.
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        self.idempotency_key.as_ref()
    }

    /// The same event in a call that was merged with others (contract R2.10): it must not hold them
    /// up for long if it has to wait for somebody's open transaction.
    #[must_use]
    pub fn merged(mut self) -> Self {
        self.merged = true;
        self
    }

    /// Whether its call was merged with others.
    pub fn is_merged(&self) -> bool {
        self.merged
    }

    /// Whether its id was made earlier. The event that had it may be gone while deliveries of it
    /// are still stored, also ended ones: they are not made again (R14.2).
    pub fn is_repeat(&self) -> bool {
        self.repeat
    }

    /// Small facts that travel with it.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}
