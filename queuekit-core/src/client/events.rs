//! The event log as applications and operators use it.

use crate::backend::Backend;
use crate::capability::{EventFilter, EventPage};
use crate::error::Result;
use crate::event::{Consumers, EventRetention, EventSettings};

/// The event log of a store; from [`Client::events`](super::Client::events).
///
/// [`Client::emit`](super::Client::emit) adds to it;
/// [`Client::consumers`](super::Client::consumers) manages which consumers get which events.
#[derive(Clone, Copy, Debug)]
pub struct Events<'a> {
    backend: &'a dyn Backend,
}

impl<'a> Events<'a> {
    /// The event log of this store. Every call returns `Unsupported` if the store keeps none.
    pub fn of(backend: &'a dyn Backend) -> Self {
        Self { backend }
    }

    /// One page of the events that match, in the order of the log; the page has a cursor for the
    /// next one.
    ///
    /// # Errors
    /// `Unsupported` if the store keeps no events; those of
    /// [`Outbox::list_events`](crate::capability::Outbox::list_events).
    pub async fn list(self, filter: &EventFilter) -> Result<EventPage> {
        self.consumers().outbox()?.list_events(filter).await
    }

    /// How long events are kept.
    ///
    /// # Errors
    /// `Unsupported` if the store keeps no events; `Unavailable`, `Closed`.
    pub async fn retention(self) -> Result<EventRetention> {
        Ok(self.consumers().settings().await?.retention)
    }

    /// Sets how long events are kept; in force within 1 s.
    ///
    /// # Errors
    /// `Unsupported` if the store keeps no events; `Unavailable`, `Indeterminate`, `Closed`.
    pub async fn set_retention(self, retention: EventRetention) -> Result<()> {
        let set = |settings: &mut EventSettings| {
            settings.retention = retention;
            Ok((true, ()))
        };
        self.consumers().change(set).await
    }

    fn consumers(self) -> Consumers<'a> {
        Consumers::of(self.backend)
    }
}
