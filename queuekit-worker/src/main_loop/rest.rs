//! Makes no call while there is nothing to do (contract R13.12).

use std::sync::Arc;
use std::time::Duration;

use queuekit_core::capability::Wakeups;
use queuekit_core::limits::QUIET;
use tokio::time::Instant;

use super::pump::Pump;
use crate::run::phase::Phase;
use crate::state::rest::NextTick;

/// A shorter rest is not worth it.
const SHORTEST: Duration = Duration::from_secs(60);

impl Pump {
    /// Until when the worker may rest, if it may.
    pub(super) fn rests_until(&self) -> Option<Instant> {
        let shared = &self.shared;
        if !shared.settings.quiet_when_idle || self.until_idle || !self.is_idle() {
            return None;
        }
        let due = self.fetcher.idles_until()?;
        let tick = match shared.rest.next_tick() {
            NextTick::Unknown => return None,
            NextTick::At(at) => Some(at),
            NextTick::Never => None,
        };
        let now = Instant::now();
        let until = [due, tick, Some(now + QUIET)].into_iter().flatten().min()?;
        (until >= now + SHORTEST && self.is_rung()).then_some(until)
    }

    /// Rests until it is rung, or until then.
    pub(super) async fn rest(&mut self, until: Instant) {
        let shared = Arc::clone(&self.shared);
        let backend = Arc::clone(shared.backend());
        tracing::debug!(worker = %shared.id(), "nothing to do: no call until it is rung");
        let store = backend.capabilities().wakeups.and_then(Wakeups::rest);
        tokio::select! {
            biased;
            () = shared.inbox().arrived() => {}
            _ = self.phase.changed() => {}
            () = tokio::time::sleep_until(until) => {}
        }
        drop(store);
        // The worker has asked nothing meanwhile: its first calls after the rest have the time that
        // they would have had before it.
        shared.vitals.store_answered();
        shared.rest.end();
        self.fetcher.look_now();
    }

    /// Whether nothing runs, and nothing is left to tell the store.
    fn is_idle(&self) -> bool {
        let shared = &self.shared;
        shared.phase() == Phase::Serving
            && !shared.ordered.is_quiet()
            && shared.registry.busy() == 0
            && shared.inbox().len() == 0
            && self.settler.is_empty()
            && self.in_flight.is_empty()
            && shared.runs.is_empty()
    }

    /// Whether the store rings when a job arrives.
    fn is_rung(&self) -> bool {
        let wakeups = self.shared.backend().capabilities().wakeups;
        let queues = &self.shared.settings.queues;
        let heard = wakeups.is_some_and(|wakeups| wakeups.are_heard(queues));
        if !heard && self.shared.rest.is_first_refusal() {
            tracing::warn!(
                worker = %self.shared.id(),
                "the worker cannot be quiet while idle: the store cannot wake it, so it polls"
            );
        }
        heard
    }
}

#[cfg(test)]
mod tests {
    use queuekit_core::memory::MemoryStore;
    use queuekit_core::{
        Backend, BackendExt, Client, JobDraft, LeaseTtl, ManualClock, QueueName, Reserve,
        ScheduleDraft, WorkerId,
    };

    use super::*;
    use crate::{RunningWorker, Worker};

    const SECOND: Duration = Duration::from_secs(1);
    /// Shorter than the time between two rests.
    const MOMENT: Duration = Duration::from_millis(100);
    const DUE: Duration = Duration::from_secs(90);

    fn store() -> (MemoryStore, ManualClock) {
        let clock = ManualClock::default();
        (MemoryStore::with_clock(clock.clone()), clock)
    }

    async fn worker(store: &MemoryStore) -> RunningWorker {
        Worker::new(Client::new(store.clone())).quiet_when_idle(true).start().await.unwrap()
    }

    /// How long the worker rests, once it does. The clock of the store stands still meanwhile.
    async fn rests_for(worker: &RunningWorker) -> Duration {
        while !worker.probe().health().resting {
            tokio::time::sleep(MOMENT).await;
        }
        let began = Instant::now();
        while worker.probe().health().resting {
            tokio::time::sleep(MOMENT).await;
        }
        began.elapsed()
    }

    fn is_about(rest: Duration, wanted: Duration) -> bool {
        rest + 2 * SECOND >= wanted && rest <= wanted + SECOND
    }

    #[tokio::test(start_paused = true)]
    async fn r13_12_it_looks_again_after_an_hour() {
        let worker = worker(&store().0).await;
        for _ in 0..3 {
            let rest = rests_for(&worker).await;
            assert!(is_about(rest, QUIET), "{rest:?}");
        }
        worker.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn r13_12_it_wakes_for_what_is_due() {
        let (store, clock) = store();
        let job = JobDraft::new("no_handler", "{}").delay(DUE).build().unwrap();
        store.enqueue_one(job).await.unwrap();
        let worker = worker(&store).await;
        let rest = rests_for(&worker).await;
        assert!(is_about(rest, DUE), "{rest:?}");
        clock.advance(DUE);
        while worker.snapshot().counters.released == 0 {
            tokio::time::sleep(SECOND).await;
        }
        worker.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn r13_12_it_wakes_for_a_schedule() {
        let (store, _) = store();
        let client = Client::new(store.clone());
        let every = ScheduleDraft::every("s", DUE, JobDraft::new("b", "1"));
        client.schedule(every).await.unwrap();
        let worker = worker(&store).await;
        let rest = rests_for(&worker).await;
        assert!(rest <= DUE + SECOND, "{rest:?}");
        worker.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn r13_12_it_wakes_for_a_lease_that_runs_out() {
        let (store, _) = store();
        store.enqueue_one(JobDraft::new("a", "{}").build().unwrap()).await.unwrap();
        let (ttl, other) = (LeaseTtl::new(DUE).unwrap(), WorkerId::new("other").unwrap());
        let request = Reserve::new(QueueName::default(), 1, ttl, other).unwrap();
        assert_eq!(store.reserve(&request).await.unwrap().leases.len(), 1);
        let worker = worker(&store).await;
        let rest = rests_for(&worker).await;
        assert!(is_about(rest, DUE), "{rest:?}");
        worker.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn r13_12_it_polls_while_something_is_due_within_a_minute() {
        let (store, _) = store();
        let job = JobDraft::new("a", "{}").delay(SHORTEST - SECOND).build().unwrap();
        store.enqueue_one(job).await.unwrap();
        let worker = worker(&store).await;
        for _ in 0..30 {
            tokio::time::sleep(SECOND).await;
            assert!(!worker.probe().health().resting);
        }
        worker.stop().await;
    }
}
