//! Finds the deliveries of events, and has both stored in one step.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{EventSettings, NewEvent};
use crate::capability::{Emission, EmitOutcome, Outbox};
use crate::error::{Error, ErrorKind, Result};
use crate::job::NewJob;
use crate::limits::{DELIVERIES_PER_CALL, Limits};

/// How often settings are read anew for one call, because somebody has changed them again.
const TRIES: usize = 10;

/// The settings as they were last read: whether they still hold, the store says as it stores.
#[derive(Debug, Default)]
pub struct Emitter {
    known: Mutex<Option<Arc<Known>>>,
}

#[derive(Debug)]
struct Known {
    version: u64,
    settings: EventSettings,
}

impl Emitter {
    /// Stores events and the deliveries of each, in one step (R14.1).
    ///
    /// # Errors
    /// `Invalid` if an event or the call is too large; `Corrupt` if the subscriptions cannot be
    /// read; those of [`Outbox::store_events`].
    pub async fn emit(
        &self,
        outbox: &dyn Outbox,
        limits: &Limits,
        events: &[NewEvent],
    ) -> Result<Vec<EmitOutcome>> {
        limits.admit_events(events)?;
        for _ in 0..TRIES {
            let known = self.known(outbox).await?;
            let emission = known.emission(events)?;
            if let Some(outcomes) = outbox.store_events(&emission).await? {
                return Ok(outcomes);
            }
            self.forget(&known);
        }
        let message = "subscriptions were changed again and again meanwhile; try again";
        Err(Error::new(ErrorKind::Unavailable, message))
    }

    /// How many subscriptions there were when they were last read.
    pub fn subscriptions(&self) -> usize {
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

impl Known {
    fn emission(&self, events: &[NewEvent]) -> Result<Emission> {
        let mut emission = Emission { version: self.version, events: Vec::new() };
        let mut deliveries = 0;
        for (item, event) in events.iter().enumerate() {
            let of_event: Vec<NewJob> = self
                .settings
                .deliveries(event)
                .map_err(|error| error.at_item(item).on(event.id()))?;
            deliveries += of_event.len();
            emission.events.push((event.clone(), of_event));
        }
        if deliveries > DELIVERIES_PER_CALL && events.len() > 1 {
            let limit = format!("at most {DELIVERIES_PER_CALL} deliveries; emit fewer at once");
            return Err(Error::invalid("events per call", limit, deliveries));
        }
        Ok(emission)
    }
}
