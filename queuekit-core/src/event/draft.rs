//! A draft of an event.

use std::time::Duration;

use bytes::Bytes;

use super::EventId;
use crate::clock::{Clock, SystemClock};
use crate::error::{Error, Result};
use crate::job::{Metadata, Payload};
use crate::limits::{DELAY, PAYLOAD_BYTES_HARD};
use crate::names::{IdempotencyKey, Kind, PartitionKey};

/// Describes an event. [`build`](Self::build) checks it, and its error names what is wrong.
#[derive(Clone, Debug)]
#[must_use = "a draft emits nothing"]
pub struct EventDraft {
    event: Result<NewEvent>,
}

/// An event within all limits: only [`EventDraft::build`] makes one.
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
    /// An event of this type with these bytes as data. The type is the kind of its deliveries.
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
                // The time only makes ids sort roughly by age. No rule depends on this clock.
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

    /// An event with this payload. Its type is the kind of the payload.
    pub fn of<P: Payload>(payload: &P) -> Self {
        match payload.encode() {
            Ok(bytes) => Self::new(P::KIND, bytes).metadata(Metadata::of_payload::<P>()),
            Err(error) => Self { event: Err(error) },
        }
    }

    /// Ordered consumers get the events of one key one after the other (R14.3).
    pub fn partition_key<K>(self, key: K) -> Self
    where
        K: TryInto<PartitionKey, Error: Into<Error>>,
    {
        self.check(|event| {
            event.partition_key = Some(key.try_into().map_err(Into::into)?);
            Ok(())
        })
    }

    /// The log holds at most one event of a type with this key (R14.2).
    pub fn idempotency_key<K>(self, key: K) -> Self
    where
        K: TryInto<IdempotencyKey, Error: Into<Error>>,
    {
        self.check(|event| {
            event.idempotency_key = Some(key.try_into().map_err(Into::into)?);
            Ok(())
        })
    }

    /// Names and values that travel with the event and its deliveries (default none).
    pub fn metadata(self, metadata: impl Into<Metadata>) -> Self {
        let metadata = metadata.into();
        self.check(|event| {
            event.metadata.replace(metadata);
            Ok(())
        })
    }

    /// How long the deliveries wait (default 0); at most 366 days.
    pub fn delay(self, delay: Duration) -> Self {
        self.check(|event| {
            if delay > DELAY {
                return Err(Error::invalid("delay", "at most 366 days", format!("{delay:?}")));
            }
            event.delay = delay;
            Ok(())
        })
    }

    /// Sets an id that was made earlier, for a call that may be repeated.
    pub fn id(self, id: EventId) -> Self {
        self.check(|event| {
            event.id = id;
            event.repeat = true;
            Ok(())
        })
    }

    /// Checks the event.
    ///
    /// # Errors
    /// `Invalid`. It names the first field that breaks its limit.
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

/// The event may have been emitted before, because its id was made before this call.
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
    /// The id, made by the client.
    pub fn id(&self) -> EventId {
        self.id
    }

    /// The event type.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The data, stored byte for byte.
    pub fn data(&self) -> &Bytes {
        &self.data
    }

    /// The partition key.
    pub fn partition_key(&self) -> Option<&PartitionKey> {
        self.partition_key.as_ref()
    }

    /// The idempotency key.
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        self.idempotency_key.as_ref()
    }

    /// The same event, marked as part of a merged call (contract R2.10): if it has to wait for an
    /// open transaction, it must not delay the others for long.
    #[must_use]
    pub fn merged(mut self) -> Self {
        self.merged = true;
        self
    }

    /// Whether the call was merged with others.
    pub fn is_merged(&self) -> bool {
        self.merged
    }

    /// Whether the id was made earlier. The event that had it may have been removed while its
    /// deliveries are still stored, ended or not: these are not created again (R14.2).
    pub fn is_repeat(&self) -> bool {
        self.repeat
    }

    /// Names and values that travel with the event.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    pub(crate) fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }
}
