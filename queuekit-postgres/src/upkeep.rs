//! Retention, and repair of derived data.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use async_trait::async_trait;
use queuekit_core::Result;
use queuekit_core::capability::{Upkeep, UpkeepReport};

use crate::PostgresStore;
use crate::call::Call;
use crate::step;

/// After this many calls that wrote a delta, the handle folds.
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
    /// 1,000 queues, and removes up to 1,000 jobs beyond their retention; likewise events. Rows
    /// that open transactions hold are left, and do not hold up the rest.
    async fn prune(&self) -> Result<UpkeepReport> {
        // Folding comes first: if no server answers, it fails within the time limit of one call.
        self.fold().await?;
        if let Err(error) = self.add_days().await {
            // Partitions are left to a role that owns the schema.
            tracing::warn!(%error, "partitions of history for the coming days were not created");
        }
        let days = unless_held(self.drop_days().await)?;
        let jobs = unless_held(self.prune_jobs().await)?;
        let events = unless_held(self.prune_events().await)?;
        Ok(all([days, jobs, events]))
    }

    /// Repairs one queue per call: the next reserve looks at its keys anew.
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
    /// Continues with the queues after those of the last step.
    async fn prune_jobs(&self) -> Result<UpkeepReport> {
        let at = &self.shared.prune;
        let pruned = self.call("prune", Call::Upkeep, at.get(), |after, session| {
            Box::pin(step::prune(session, *after))
        });
        let (next, report) = pruned.await?;
        at.set(next);
        Ok(report)
    }

    /// Counts a call that wrote a delta, and folds now and then in the background: a process that
    /// only enqueues runs no upkeep.
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

    /// Folds deltas into counters; does nothing if another process is folding.
    pub(crate) async fn fold(&self) -> Result<()> {
        let folded =
            self.call("fold", Call::Repeatable, self.shared.lock_class, |class, session| {
                Box::pin(step::fold(session, *class))
            });
        folded.await
    }
}

/// The report of a part of a step. If an open transaction was in its way, the report is empty and
/// says `held`.
pub(crate) fn unless_held(part: Result<UpkeepReport>) -> Result<UpkeepReport> {
    match part {
        Err(error) if error.is_held_up() => {
            tracing::debug!(%error, "expired rows are in use; a later step removes them");
            Ok(UpkeepReport::default().held(true))
        }
        part => part,
    }
}

/// The reports of the parts of a step, added up.
pub(crate) fn all(parts: impl IntoIterator<Item = UpkeepReport>) -> UpkeepReport {
    parts.into_iter().fold(UpkeepReport::default(), UpkeepReport::and)
}
