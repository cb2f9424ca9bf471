//! Tells the store how runs ended, until it has answered.

use std::sync::Arc;
use std::time::Duration;

use metrics::histogram;
use queuekit_core::capability::{Exchanged, Settlement};
use queuekit_core::metrics::JOB_SETTLE;
use queuekit_core::retry::{chance, reconnect_delay};
use queuekit_core::{Ack, Backend, Error, ErrorKind, Nack, NackKind, Result};
use tokio::time::Instant;

use crate::run::outcome::Outcome;
use crate::run::result::RunResult;
use crate::run::run::{Flag, Run};
use crate::state::run_events::ended;
use crate::state::shared::Shared;
use crate::state::summary::Tally;

/// Most outcomes told in one call.
const MOST: usize = 1000;

/// Outcomes that the store has not answered.
pub(crate) struct Settler {
    shared: Arc<Shared>,
    fresh: Vec<Item>,
    /// Told at least once; the call failed or its answer is unknown.
    repeats: Vec<Item>,
    repeat_at: Instant,
    failures: u32,
}

struct Item {
    run: Arc<Run>,
    result: RunResult,
    /// An earlier call may have taken effect.
    unclear: bool,
}

/// Outcomes of one call.
#[derive(Default)]
pub(crate) struct Batch {
    acks: Vec<Item>,
    nacks: Vec<Item>,
}

impl Settler {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            fresh: Vec::new(),
            repeats: Vec::new(),
            repeat_at: Instant::now(),
            failures: 0,
        }
    }

    pub(crate) fn add(&mut self, run: Arc<Run>, result: RunResult) {
        let unclear = false;
        self.fresh.push(Item { run, result, unclear });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.repeats.is_empty()
    }

    pub(crate) fn unanswered(&self) -> usize {
        self.fresh.len() + self.repeats.len()
    }

    /// When to tell again what was not answered.
    pub(crate) fn repeat_at(&self) -> Option<Instant> {
        (!self.repeats.is_empty()).then_some(self.repeat_at)
    }

    /// Tells the store first what the runs have reported: afterwards their leases are gone.
    pub(crate) async fn flush_reports(&mut self) {
        let dirty = |item: &&Item| !item.run.reports.is_clean();
        let told: Vec<_> = self
            .fresh
            .iter()
            .filter(dirty)
            .filter_map(|item| Some((&item.run, item.run.reports.take(&item.run.lease.token)?)))
            .collect();
        if let Some(leases) = self.shared.leases() {
            for told in told.chunks(MOST) {
                let reports: Vec<_> = told.iter().map(|(_, report)| report.clone()).collect();
                if let Err(error) = leases.report(&reports).await {
                    self.shared.store_error(&error);
                }
                // Also after a failure: an outcome must not wait for a report.
                told.iter().for_each(|(run, _)| run.reports.sent(None));
            }
        }
    }

    /// The next outcomes to tell; those whose reports are under way wait for them.
    pub(crate) fn next_batch(&mut self) -> Batch {
        let mut batch = Batch::default();
        let mut lost = Vec::new();
        let mut later = Vec::new();
        for item in self.fresh.drain(..) {
            // The store could only answer LeaseLost.
            if item.run.has(Flag::Lost) {
                lost.push(item);
            } else if item.run.reports.is_sending() || batch.len() >= MOST {
                later.push(item);
            } else {
                batch.push(item);
            }
        }
        self.fresh = later;
        self.drop_lost(lost);
        batch
    }

    /// These outcomes were not told after all.
    pub(crate) fn put_back(&mut self, batch: Batch) {
        // The batch goes in front, because its outcomes are older.
        let later = std::mem::replace(&mut self.fresh, batch.into_items());
        self.fresh.extend(later);
    }

    /// The outcomes of this batch were answered.
    pub(crate) fn answered(&mut self, batch: Batch, exchanged: &Exchanged) -> Result<()> {
        let complete =
            batch.acks.len() == exchanged.acks.len() && batch.nacks.len() == exchanged.nacks.len();
        // Which outcomes were stored is unknown. A repeat is safe, because the leases fence it.
        if !complete {
            let error = short_answer();
            self.postpone(batch.into_items(), &error);
            return Err(error);
        }
        self.failures = 0;
        self.finish(batch.acks, exchanged.acks.iter().copied().map(Outcome::from));
        self.finish(batch.nacks, exchanged.nacks.iter().copied().map(Outcome::from));
        Ok(())
    }

    /// The call failed as a whole: its outcomes are reported again later.
    pub(crate) fn failed(&mut self, batch: Batch, error: &Error) {
        self.postpone(batch.into_items(), error);
    }

    /// Tells a batch.
    pub(crate) async fn settle(&mut self, batch: Batch) {
        self.tell(batch.acks).await;
        self.tell(batch.nacks).await;
    }

    /// Tells again what was not answered, once it is time; whether it was.
    pub(crate) async fn repeat(&mut self) -> bool {
        if self.repeats.is_empty() || Instant::now() < self.repeat_at {
            return false;
        }
        let repeats = std::mem::take(&mut self.repeats);
        // After an unclear call, the lease may be gone because that call ended it: only the store
        // can tell, so the outcome is sent again.
        let (lost, held): (Vec<_>, Vec<_>) =
            repeats.into_iter().partition(|item| item.run.has(Flag::Lost) && !item.unclear);
        self.drop_lost(lost);
        let mut held = held.into_iter().peekable();
        while held.peek().is_some() {
            let mut batch = Batch::default();
            held.by_ref().take(MOST).for_each(|item| batch.push(item));
            self.settle(batch).await;
        }
        true
    }

    /// Gives up what the store never answered: the leases run out by themselves.
    pub(crate) fn give_up(&mut self) {
        let shared = Arc::clone(&self.shared);
        // Collected first, because `finish` locks the registry too.
        let left: Vec<_> = {
            let runs = shared.registry.lock();
            let left = runs.iter().filter(|entry| !entry.settled);
            left.map(|entry| Arc::clone(&entry.run)).collect()
        };
        if !left.is_empty() {
            let runs = left.len();
            tracing::error!(worker = %shared.id(), runs, "the store accepts no more outcomes");
        }
        let item = |run| Item { run, result: RunResult::of_shutdown(), unclear: false };
        self.drop_lost(left.into_iter().map(item).collect());
    }

    /// Tells outcomes of one sort; one the store refuses for good harms none of the others.
    async fn tell(&mut self, items: Vec<Item>) {
        if items.is_empty() {
            return;
        }
        let backend = Arc::clone(self.shared.backend());
        match record(&*backend, &items).await {
            Ok(outcomes) => {
                self.failures = 0;
                self.finish(items, outcomes);
            }
            Err(error) if is_outage(&error) => self.postpone(items, &error),
            // A closed store never answers again, and the leases expire.
            Err(error) if *error.kind() == ErrorKind::Closed => self.drop_lost(items),
            Err(error) => {
                self.shared.store_error(&error);
                self.tell_one_by_one(&*backend, items).await;
            }
        }
    }

    async fn tell_one_by_one(&mut self, backend: &dyn Backend, items: Vec<Item>) {
        let mut items = items.into_iter();
        let mut held = (Vec::new(), None);
        while let Some(item) = items.next() {
            match record(backend, std::slice::from_ref(&item)).await {
                Ok(outcomes) => self.finish(vec![item], outcomes),
                Err(error) if error.is_retryable() => {
                    held.0.push(item);
                    // The others would most likely fail too, each after the full time limit of a
                    // call.
                    if is_outage(&error) {
                        held.0.extend(items.by_ref());
                    }
                    held.1 = Some(error);
                }
                Err(error) => self.refused(item, &error),
            }
        }
        if let (items, Some(error)) = held {
            self.postpone(items, &error);
        }
    }

    /// The store refuses this outcome for good.
    fn refused(&mut self, item: Item, error: &Error) {
        // A success that cannot be stored, for example because its result is too large, becomes a
        // failed attempt with this error. Otherwise the job would run again when its lease expires,
        // and nobody would see why.
        if matches!(item.result, RunResult::Done(_)) && *error.kind() != ErrorKind::Closed {
            let result = RunResult::refused(&item.run, error);
            self.add(item.run, result);
            return;
        }
        let job = item.run.lease.id();
        tracing::error!(%job, %error, "an outcome was refused; the lease will expire");
        self.drop_lost(vec![item]);
    }

    fn postpone(&mut self, items: Vec<Item>, error: &Error) {
        if items.is_empty() {
            return;
        }
        self.shared.store_error(error);
        let delay = reconnect_delay(self.failures, chance());
        self.failures = self.failures.saturating_add(1);
        self.repeat_at = Instant::now() + delay;
        let unclear = *error.kind() == ErrorKind::Indeterminate;
        self.repeats.extend(
            items.into_iter().map(|item| Item { unclear: item.unclear || unclear, ..item }),
        );
    }

    /// These outcomes change nothing: their leases are gone.
    fn drop_lost(&mut self, items: Vec<Item>) {
        if !items.is_empty() {
            let outcomes = vec![Outcome::LeaseLost; items.len()];
            self.finish(items, outcomes);
        }
    }

    fn finish(&mut self, items: Vec<Item>, outcomes: impl IntoIterator<Item = Outcome>) {
        let shared = &self.shared;
        let (now, settle) = (std::time::Instant::now(), histogram!(JOB_SETTLE.name));
        let mut tally = Tally::default();
        for (item, outcome) in items.iter().zip(outcomes) {
            let outcome = item.seen(outcome);
            tally.add(outcome);
            item.run.meter.ended(outcome);
            if let Some(at) = item.run.ended() {
                settle.record(now.saturating_duration_since(at));
            }
            ended(shared, &item.run, &item.result, outcome);
        }
        shared.registry.settled(items.iter().map(|item| &item.run));
        tally.flush(&shared.counters);
    }
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.acks.len() + self.nacks.len()
    }

    fn push(&mut self, item: Item) {
        match item.result {
            RunResult::Done(_) => self.acks.push(item),
            RunResult::Failed { .. } => self.nacks.push(item),
        }
    }

    pub(crate) fn settlement(&self) -> Settlement {
        Settlement { acks: acks(&self.acks), nacks: nacks(&self.nacks) }
    }

    fn into_items(mut self) -> Vec<Item> {
        self.acks.append(&mut self.nacks);
        self.acks
    }
}

impl Item {
    /// A lease that is lost after an unclear call was most likely ended by that call.
    fn seen(&self, answered: Outcome) -> Outcome {
        match &self.result {
            RunResult::Failed { kind, delay, .. }
                if self.unclear && answered == Outcome::LeaseLost =>
            {
                self.intended(*kind, *delay)
            }
            _ => answered,
        }
    }

    fn intended(&self, kind: NackKind, after: Duration) -> Outcome {
        let lease = &self.run.lease;
        match kind {
            NackKind::Retry if lease.attempt < lease.max_attempts => Outcome::Retrying { after },
            NackKind::Retry | NackKind::Fatal => Outcome::Dead,
            NackKind::Release => Outcome::Released { after },
            NackKind::Cancelled => Outcome::Cancelled,
        }
    }
}

/// Tells outcomes of one sort in one call.
async fn record(backend: &dyn Backend, items: &[Item]) -> Result<Vec<Outcome>> {
    let done = items.first().is_some_and(|item| matches!(item.result, RunResult::Done(_)));
    let outcomes: Vec<_> = if done {
        let outcomes = backend.ack(&acks(items)).await?;
        outcomes.into_iter().map(Outcome::from).collect()
    } else {
        let outcomes = backend.nack(&nacks(items)).await?;
        outcomes.into_iter().map(Outcome::from).collect()
    };
    if outcomes.len() == items.len() { Ok(outcomes) } else { Err(short_answer()) }
}

fn acks(items: &[Item]) -> Vec<Ack> {
    items.iter().filter_map(|item| item.result.ack(&item.run.lease.token)).collect()
}

fn nacks(items: &[Item]) -> Vec<Nack> {
    items.iter().filter_map(|item| item.result.nack(&item.run.lease.token)).collect()
}

/// The call failed for reasons that none of its items gave.
pub(crate) fn is_outage(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Indeterminate)
}

fn short_answer() -> Error {
    let message = "the store returned too few outcomes; report this bug of the store";
    Error::new(ErrorKind::Indeterminate, message)
}
