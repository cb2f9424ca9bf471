//! Events, and deliveries of them.

use async_trait::async_trait;
use queuekit_core::capability::{
    Emission, EmitOutcome, EventFilter, EventPage, Outbox, StoredEvents, StoredSettings,
};
use queuekit_core::{Bytes, NewJob, Result};

use crate::PostgresStore;
use crate::call::Call;
use crate::step::{self, Again, Emit, Emitted, ROUNDS, gone};

#[async_trait]
impl Outbox for PostgresStore {
    async fn event_settings(&self) -> Result<StoredSettings> {
        let settings = self.call("event_settings", Call::Repeatable, (), |(), session| {
            Box::pin(step::event_settings(session))
        });
        settings.await
    }

    async fn change_event_settings(&self, seen: u64, to: &Bytes) -> Result<bool> {
        let input = (seen, to);
        let changed = self.call("change_event_settings", Call::Once, input, |input, session| {
            let (seen, to) = *input;
            Box::pin(step::change_event_settings(session, seen, to))
        });
        changed.await
    }

    async fn store_events(&self, emission: &Emission) -> Result<StoredEvents> {
        let during = |error: queuekit_core::Error| error.during("store_events");
        for _ in 0..ROUNDS {
            let emit = self.emit(emission).await.map_err(during)?;
            let stored = self.call("store_events", Call::Repeatable, &emit, |emit, session| {
                Box::pin(emit.store(session))
            });
            match stored.await? {
                Emitted::Stored(outcomes) => {
                    self.emitted(emission, &outcomes);
                    return Ok(StoredEvents { outcomes, instead: None });
                }
                Emitted::Stale => return self.emit_held(emission).await,
                Emitted::QueuesGone => self.shared.known.forget(emit.queues.into_keys()),
            }
        }
        Err(during(gone()))
    }

    async fn list_events(&self, filter: &EventFilter) -> Result<EventPage> {
        let listed = self.call("list_events", Call::Repeatable, filter, |filter, session| {
            Box::pin(step::list_events(session, filter))
        });
        listed.await
    }

    async fn deliver_again(&self, deliveries: &[NewJob]) -> Result<Vec<bool>> {
        if deliveries.is_empty() {
            return Ok(Vec::new());
        }
        let queues = self.queues_of(deliveries.iter()).await;
        let queues = queues.map_err(|error| error.during("deliver_again"))?;
        let again = Again { deliveries, queues };
        let stored = self.call("deliver_again", Call::Once, &again, |again, session| {
            Box::pin(again.store(session))
        });
        let mut stored = stored.await?;
        self.stir(deliveries.iter().map(NewJob::queue));
        self.count_delta();
        // Of deliveries that occur twice, the first was stored.
        Ok(deliveries.iter().map(|delivery| stored.remove(&delivery.id())).collect())
    }
}

impl PostgresStore {
    /// Prepares an emission: creates its queues if they do not exist. This runs on a connection of
    /// the store's own, also for a transaction of the application.
    pub(crate) async fn emit<'a>(&self, emission: &'a Emission) -> Result<Emit<'a>> {
        let deliveries = emission.events.iter().flat_map(|(_, deliveries)| deliveries);
        let queues = self.queues_of(deliveries).await?;
        Ok(Emit { emission, queues })
    }

    /// Stores an emission whose settings have changed, while it holds those that are there now.
    async fn emit_held(&self, emission: &Emission) -> Result<StoredEvents> {
        let input = (emission, self.shared.limits.queues());
        let stored = self.call("store_events", Call::Repeatable, input, |input, session| {
            let (emission, most_queues) = *input;
            Box::pin(step::store_held(session, emission, most_queues))
        });
        let stored = stored.await?;
        self.emitted(stored.instead.as_ref().unwrap_or(emission), &stored.outcomes);
        Ok(stored)
    }

    /// Wakes those who wait for the deliveries.
    fn emitted(&self, emission: &Emission, outcomes: &[EmitOutcome]) {
        let is_new = |outcome: &EmitOutcome| matches!(outcome, EmitOutcome::Emitted { .. });
        let new = emission.events.iter().zip(outcomes).filter(|(_, outcome)| is_new(outcome));
        let mut queues: Vec<_> =
            new.flat_map(|((_, deliveries), _)| deliveries).map(NewJob::queue).collect();
        queues.sort_unstable();
        queues.dedup();
        if !queues.is_empty() {
            self.stir(queues.into_iter());
            self.count_delta();
        }
    }
}
