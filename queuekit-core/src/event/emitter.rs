//! Finds the deliveries of events, and stores both in one step.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{EventSettings, NewEvent};
use crate::capability::{EmitOutcome, Outbox};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

/// How often one call reads the settings again because another process has changed them.
const TRIES: usize = 10;

/// The settings as they were last read. The store checks that they are current when it stores
/// events.
#[derive(Debug, Default)]
pub(crate) struct Emitter {
    known: Mutex<Option<Arc<Known>>>,
}

#[derive(Debug)]
struct Known {
    version: u64,
    settings: EventSettings,
}

impl Emitter {
    /// Stores events and their deliveries in one step (R14.1). Returns the outcome of each event,
    /// and how many deliveries were stored with it.
    ///
    /// # Errors
    /// `Invalid` if an event or the call is too large; `Corrupt` if the subscriptions cannot be
    /// read; those of [`Outbox::store_events`].
    pub(crate) async fn emit(
        &self,
        outbox: &dyn Outbox,
        limits: &Limits,
        events: &[NewEvent],
    ) -> Result<Vec<(EmitOutcome, usize)>> {
        limits.admit_events(events)?;
        for _ in 0..TRIES {
            let known = self.known(outbox).await?;
            let emission = known.settings.emission(known.version, events)?;
            if let Some(outcomes) = outbox.store_events(&emission).await? {
                let deliveries = emission.events.iter().map(|(_, deliveries)| deliveries.len());
                let stored = |(outcome, deliveries)| match outcome {
                    EmitOutcome::Emitted { .. } => (outcome, deliveries),
                    EmitOutcome::Duplicate { .. } | EmitOutcome::Conflict { .. } => (outcome, 0),
                };
                return Ok(outcomes.into_iter().zip(deliveries).map(stored).collect());
            }
            self.forget(&known);
        }
        let message = "subscriptions kept changing during the call; try again";
        Err(Error::new(ErrorKind::Unavailable, message))
    }

    /// The number of subscriptions at the last read.
    pub(crate) fn subscriptions(&self) -> usize {
        self.lock().as_ref().map_or(0, |known| known.settings.subscriptions.len())
    }

    async fn known(&self, outbox: &dyn Outbox) -> Result<Arc<Known>> {
        let known = self.lock().clone();
        if let Some(known) = known {
            return Ok(known);
        }
        let stored = outbox.event_settings().await?;
        let settings = EventSettings::read(&stored.body)?;
        let known = Arc::new(Known { version: stored.version, settings });
        *self.lock() = Some(Arc::clone(&known));
        Ok(known)
    }

    fn forget(&self, stale: &Arc<Known>) {
        let mut known = self.lock();
        if known.as_ref().is_some_and(|known| Arc::ptr_eq(known, stale)) {
            *known = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Known>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use crate::client::Client;
    use crate::event::{EventDraft, SubscriptionDraft};
    use crate::memory::MemoryStore;

    #[tokio::test]
    async fn deliveries_are_counted_of_events_that_were_stored() {
        let client = Client::new(MemoryStore::new());
        for (consumer, events) in [("a", "*"), ("b", "order.*"), ("c", "other")] {
            let subscription = SubscriptionDraft::new(consumer, events).build().unwrap();
            client.consumers().put(&subscription).await.unwrap();
        }
        let event = |kind: &str, key: &str| EventDraft::new(kind, "1").idempotency_key(key);
        let events = [event("order.paid", "1"), event("order.paid", "1"), event("none", "2")];
        let outcomes = client.emit_counted(events).await.unwrap();
        let deliveries = outcomes.iter().map(|(_, deliveries)| *deliveries);
        assert_eq!(deliveries.collect::<Vec<_>>(), [2, 0, 1], "{outcomes:?}");
    }
}
