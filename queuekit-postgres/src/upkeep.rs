//! Retention, and mending what is derived.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use async_trait::async_trait;
use queuekit_core::Result;
use queuekit_core::capability::{Upkeep, UpkeepReport};

use crate::PostgresStore;
use crate::call::Call;
use crate::step;

/// After so many calls that wrote a delta, the handle folds.
const UNFOLDED: u64 = 1000;

/// How many deltas this handle has written since it last folded.
#[derive(Debug, Default)]
pub(crate) struct Folding(AtomicU64);

/// The number of the queue beyond which the next step goes on.
#[derive(Debug, Default)]
pub(crate) struct Cursor(AtomicI32);

impl Cursor {
    fn get(&self) -> i32 {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, queue: i32) {
        self.0.store(queue, Ordering::Relaxed);
    }
}

#[async_trait]
impl Upkeep for PostgresStore {
    /// One step: folds counters, drops the days of history that nothing keeps, looks at the next
    /// 1,000 queues, and removes up to 1,000 jobs beyond their retention; likewise events. What
    /// open transactions hold is left, and holds up none of the rest.
    async fn prune(&self) -> Result<UpkeepReport> {
        // First: where no server answers, this says so within the time limit of one call.
        self.fold().await?;
        if let Err(error) = self.add_days().await {
            // A role that does not own the schema leaves it to one that does.
            tracing::warn!(%error, "no partitions of history were made for the days to come");
        }
        let days = unless_held(self.drop_days().await)?;
        let jobs = unless_held(self.prune_jobs().await)?;
        let events = unless_held(self.prune_events().await)?;
        Ok(all([days, jobs, events]))
    }

    /// One queue per call: its keys are looked at anew by the next reserve.
    async fn repair(&self) -> Result<UpkeepReport> {
        let input = (self, self.shared.repair.get());
        let repaired = self.call("repair", Call::Repeatable, input, |input, session| {
            let (store, after) = *input;
            Box::pin(step::repair(store, session, after))
        });
        let (next, report) = repaired.await?;
        self.shared.repair.set(next.unwrap_or(0));
        Ok(report)
    }
}

impl PostgresStore {
    /// Goes on with the queues where the last step ended.
    async fn prune_jobs(&self) -> Result<UpkeepReport> {
        let at = &self.shared.prune;
        let pruned = self.call("prune", Call::Upkeep, at.get(), |after, session| {
            Box::pin(step::prune(session, *after))
        });
        let (next, report) = pruned.await?;
        at.set(next);
        Ok(report)
    }

    /// A process that only enqueues runs no upkeep: its own deltas it folds by itself, beside its
    /// calls.
    pub(crate) fn count_delta(&self) {
        if self.shared.folding.0.fetch_add(1, Ordering::Relaxed) + 1 < UNFOLDED {
            return;
        }
        self.shared.folding.0.store(0, Ordering::Relaxed);
        let store = self.clone();
        self.shared.io.spawn(async move {
            if let Err(error) = store.fold().await {
                tracing::debug!(%error, "counters were not folded; a later call tries again");
            }
        });
    }

    /// Folds deltas into counters; nothing if somebody else does it.
    pub(crate) async fn fold(&self) -> Result<()> {
        let folded =
            self.call("fold", Call::Repeatable, self.shared.lock_class, |class, session| {
                Box::pin(step::fold(session, *class))
            });
        folded.await
    }
}

/// What a part of a step did; nothing, and that it is held, if an open transaction was in its way.
pub(crate) fn unless_held(part: Result<UpkeepReport>) -> Result<UpkeepReport> {
    match part {
        Err(error) if error.is_held_up() => {
            tracing::debug!(%error, "what is to go is in use; a later step removes it");
            Ok(UpkeepReport { held: true, ..UpkeepReport::default() })
        }
        part => part,
    }
}

/// What the parts of a step did together.
pub(crate) fn all(parts: impl IntoIterator<Item = UpkeepReport>) -> UpkeepReport {
    parts.into_iter().fold(UpkeepReport::default(), |all, part| UpkeepReport {
        changed: all.changed + part.changed,
        more: all.more || part.more,
        held: all.held || part.held,
    })
}
