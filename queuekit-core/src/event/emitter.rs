//! Finds the deliveries of events, and stores both in one step.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{EventSettings, NewEvent};
use crate::capability::{Emission, EmitOutcome, Outbox, StoredEvents};
use crate::error::Result;
use crate::store_limits::Limits;

/// The settings as they were last read. When it stores events, the store checks that they are
/// current.
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
    /// Stores events and their deliveries in one step (R14.1).
    ///
    /// # Errors
    /// `Invalid` if an event or the call is too large; `Corrupt` if the subscriptions cannot be
    /// read; those of [`Outbox::store_events`].
    pub(crate) async fn emit(
        &self,
        outbox: &dyn Outbox,
        limits: &Limits,
        events: &[NewEvent],
    ) -> Result<Vec<EmitOutcome>> {
        limits.admit_events(events)?;
        let emission = match self.known().and_then(|known| known.emission(events).ok()) {
            Some(emission) => emission,
            // Where old settings make too many deliveries, the present ones may not.
            None => self.read(outbox).await?.emission(events)?,
        };
        let StoredEvents { outcomes, instead } = outbox.store_events(&emission).await?;
        // The store had newer settings. The next call reads them, instead of having its deliveries
        // computed twice.
        if instead.is_some() {
            self.forget(emission.version);
        }
        Ok(outcomes)
    }

    /// The number of subscriptions at the last read.
    pub(crate) fn subscriptions(&self) -> usize {
        self.lock().as_ref().map_or(0, |known| known.settings.subscriptions.len())
    }

    fn known(&self) -> Option<Arc<Known>> {
        self.lock().clone()
    }

    async fn read(&self, outbox: &dyn Outbox) -> Result<Arc<Known>> {
        let stored = outbox.event_settings().await?;
        let settings = EventSettings::read(&stored.body)?;
        let known = Arc::new(Known { version: stored.version, settings });
        *self.lock() = Some(Arc::clone(&known));
        Ok(known)
    }

    fn forget(&self, version: u64) {
        let mut known = self.lock();
        // Another call may have read the newer settings in the meantime.
        if known.as_ref().is_some_and(|known| known.version == version) {
            *known = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Known>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn emission(&self, events: &[NewEvent]) -> Result<Emission> {
        self.settings.emission(self.version, events)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::client::Client;
    use crate::error::ErrorKind;
    use crate::event::{EventDraft, SubscriptionDraft};
    use crate::memory::MemoryStore;

    #[tokio::test]
    async fn r14_4_an_emit_is_not_refused_by_subscriptions_of_the_past() {
        let store = Arc::new(MemoryStore::new());
        let [one, other] = [0; 2].map(|_| Client::shared(Arc::clone(&store) as _));
        for number in 0..101 {
            let wants = SubscriptionDraft::new(format!("c{number}").as_str(), "*");
            one.consumers().put(wants).await.unwrap();
        }
        let emit = async || one.emit_all((0..100).map(|_| EventDraft::new("e", "1"))).await;
        assert!(matches!(emit().await.unwrap_err().kind(), ErrorKind::Invalid { .. }));
        other.consumers().remove("c0").await.unwrap();
        assert_eq!(emit().await.unwrap().as_slice().len(), 100);
    }
}
