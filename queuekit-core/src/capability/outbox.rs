//! The events of a store: a log, its settings, and deliveries, which are jobs. The module
//! [`event`](crate::event) decides which consumer gets which event.

use std::fmt::Debug;

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::backend::PageSize;
use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, EventId, EventPattern, NewEvent};
use crate::job::NewJob;
use crate::names::Kind;

/// An event log with deliveries (contract R14). Applications use
/// [`Consumers`](crate::event::Consumers) and [`Client::emit`](crate::Client::emit).
#[async_trait]
pub trait Outbox: Debug + Send + Sync {
    /// The settings and their version.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn event_settings(&self) -> Result<StoredSettings>;

    /// Changes the settings if they still have this version; false if they do not.
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`.
    async fn change_event_settings(&self, seen: u64, to: &Bytes) -> Result<bool>;

    /// Stores events and their deliveries in one atomic step, under the settings that are in force
    /// at that instant. If the emission was made under others, the store makes it anew by
    /// [`Emission::under`], and lets nobody change the settings until that is stored: so the call
    /// ends, however often they change. `max_pending` does not bound deliveries.
    ///
    /// # Errors
    /// Those of [`Emission::under`]; `Invalid` if there would be too many queues; `Unavailable`,
    /// `Indeterminate`, `Closed`.
    async fn store_events(&self, emission: &Emission) -> Result<StoredEvents>;

    /// Events of the log, in the order in which they were stored.
    ///
    /// # Errors
    /// `NotFound` if the event to begin after is not in the log; `Unavailable`, `Closed`.
    async fn list_events(&self, filter: &EventFilter) -> Result<EventPage>;

    /// Stores deliveries of events that are in the log. Returns for each whether it was stored now;
    /// deliveries of events that are no longer in the log, and deliveries that are already stored,
    /// are not.
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`.
    async fn deliver_again(&self, deliveries: &[NewJob]) -> Result<Vec<bool>>;
}

/// Settings as they are stored.
// Exhaustive: a document and its version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredSettings {
    /// Zero if nothing was ever stored; each change gives a new one.
    pub version: u64,
    /// Empty if nothing was ever stored.
    pub body: Bytes,
}

/// Events to store.
// Exhaustive: a store that ignores a part of it must not compile.
#[derive(Clone, Debug)]
pub struct Emission {
    /// The version of the settings by which deliveries were found.
    pub version: u64,
    /// Each event with its deliveries.
    pub events: Vec<(NewEvent, Vec<NewJob>)>,
}

/// What a store has done with an emission.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Debug)]
#[must_use]
pub struct StoredEvents {
    /// The outcome of each event.
    pub outcomes: Vec<EmitOutcome>,
    /// What was stored instead of the emission, because the settings had changed.
    pub instead: Option<Emission>,
}

/// The outcome for one event.
///
/// It serializes to the JSON of the HTTP API, for example
/// `{"outcome":"emitted","id":"019b76da-a800-7000-8000-0000000037a8"}`. `id` is the id of the new
/// event, or of the event that has its place.
// Exhaustive: code that passes outcomes on, such as a worker or a server, must handle each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::ToSchema),
    schema(description = "The outcome for an event.")
)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[must_use]
pub enum EmitOutcome {
    /// It is stored, with its deliveries.
    Emitted {
        /// Its id.
        id: EventId,
    },
    /// Its id or idempotency key is taken by an equal event, which is left as it is.
    Duplicate {
        /// That event.
        #[serde(rename = "id")]
        existing: EventId,
    },
    /// Its id is taken by an event of another type or with other data.
    Conflict {
        /// That event.
        #[serde(rename = "id")]
        existing: EventId,
    },
}

/// The id under which the event is stored.
pub(crate) fn emitted(outcome: EmitOutcome) -> Result<EventId> {
    match outcome {
        EmitOutcome::Emitted { id } | EmitOutcome::Duplicate { existing: id } => Ok(id),
        EmitOutcome::Conflict { existing } => {
            let message =
                format!("id {existing} is taken by an event of another type or other data");
            Err(Error::new(ErrorKind::Conflict, message))
        }
    }
}

/// Which events to list; the default lists all.
// Exhaustive: a store that ignores a condition must not compile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only of these types.
    pub pattern: Option<EventPattern>,
    /// Only stored at this instant or later.
    pub from: Option<Timestamp>,
    /// Only stored before this instant.
    pub to: Option<Timestamp>,
    /// Only after this event, which is in the log; a cursor takes precedence.
    pub after: Option<EventId>,
    /// Where the last page ended.
    pub cursor: Option<u64>,
    /// None after this position of the log, the `end` of an earlier page.
    pub until: Option<u64>,
    /// The most events on a page; a page may be short or empty though more follow.
    pub limit: PageSize,
}

impl EventFilter {
    /// The error if the event after which to begin is not in the log.
    pub fn gone(&self) -> Error {
        let message = "the event to begin after is not in the log; begin at a time instead";
        let error = Error::new(ErrorKind::NotFound, message);
        self.after.map_or(error.clone(), |event| error.on(event))
    }

    /// Whether this position of the log is after the last one it asks for.
    pub fn ends_before(&self, place: u64) -> bool {
        self.until.is_some_and(|until| place > until)
    }

    /// Whether it matches an event of this type that was stored at this instant.
    pub fn admits(&self, kind: &Kind, emitted_at: Timestamp) -> bool {
        self.pattern.as_ref().is_none_or(|pattern| pattern.matches(kind))
            && self.from.is_none_or(|from| emitted_at >= from)
            && self.to.is_none_or(|to| emitted_at < to)
    }
}

/// One page of events.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventPage {
    /// The store's clock as it was read.
    pub now: Timestamp,
    /// In the order in which they were stored.
    pub events: Vec<Event>,
    /// Where the next page begins; none at the end.
    pub cursor: Option<u64>,
    /// The position of the last event of the log; 0 if it is empty.
    pub end: u64,
}
