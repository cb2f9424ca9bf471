//! Retention, and repair of derived data.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use async_trait::async_trait;
use queuekit_core::Result;
use queuekit_core::capability::{Upkeep, UpkeepReport};

use crate::PostgresStore;
use crate::call::Call;
use crate::partitions::{self, Partition};
use crate::step;

/// After this many calls that wrote a delta, the handle folds.
const UNFOLDED: u64 = 1000;

/// The most steps of folding in a row.
const FOLDS: usize = 50;

/// How many deltas this handle has written since it last folded.
#[derive(Debug, Default)]
pub(crate) struct Folding(AtomicU64);

/// The number of the queue after which the next step continues.
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
    /// One step: folds counters, looks at the next 1,000 queues, and removes up to 1,000 jobs
    /// beyond their retention; likewise events. Rows that open transactions hold are left, and do
    /// not hold up the rest.
    async fn prune(&self) -> Result<UpkeepReport> {
        // Folding comes first: if no server answers, it fails within the time limit of one call.
        self.fold().await?;
        if let Err(error) = self.add_partitions().await {
            // Partitions are left to a role that owns the schema.
            tracing::warn!(%error, "partitions of events for the coming days were not created");
        }
        let jobs = unless_held(self.prune_jobs().await)?;
        let events = unless_held(self.prune_events().await)?;
        let history = unless_held(self.prune_history().await)?;
        Ok(jobs.and(events).and(history))
    }

    /// Repairs one queue per call: the next reserve looks at its keys anew.
    async fn repair(&self) -> Result<UpkeepReport> {
        let after = self.shared.repair.get();
        let repaired = self.call("repair", Call::Repeatable, after, |after, session| {
            Box::pin(step::repair(session, *after))
        });
        let (next, report) = repaired.await?;
        self.shared.repair.set(next.unwrap_or(0));
        Ok(report)
    }
}

impl PostgresStore {
    /// Makes the missing partitions of the log of events.
    pub(crate) async fn add_partitions(&self) -> Result<()> {
        let added = self.call("add_partitions", Call::Repeatable, (), |(), session| {
            Box::pin(partitions::add_partitions(session))
        });
        added.await
    }

    /// Drops the days that are beyond the age of retention, and removes events that are beyond its
    /// number.
    async fn prune_events(&self) -> Result<UpkeepReport> {
        let old = self
            .call("prune", Call::Upkeep, (), |(), session| Box::pin(step::old_event_days(session)));
        let (retention, old) = old.await?;
        let mut report = UpkeepReport::default();
        for day in &old {
            match unless_held(self.drop_event_day(day).await) {
                Ok(dropped) => report = report.and(dropped),
                Err(error) => {
                    tracing::warn!(%error, day = day.name, "a day of events was not removed");
                }
            }
        }
        let beyond = self.call("prune", Call::Upkeep, retention, |retention, session| {
            Box::pin(step::remove_events_beyond(session, *retention))
        });
        Ok(report.and(unless_held(beyond.await)?))
    }

    async fn drop_event_day(&self, day: &Partition) -> Result<UpkeepReport> {
        let copied = self.call("prune", Call::Upkeep, day, |day, session| {
            Box::pin(step::copy_events_ahead(session, day))
        });
        let Some(changed) = copied.await? else {
            return Ok(UpkeepReport::new(0, true));
        };
        let dropped = self.call("prune", Call::Upkeep, day, |day, session| {
            Box::pin(step::drop_event_day(session, day))
        });
        dropped.await?;
        Ok(UpkeepReport::new(changed, true))
    }

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

    /// Removes rows of history that are no longer kept.
    async fn prune_history(&self) -> Result<UpkeepReport> {
        let removed = self
            .call("prune", Call::Upkeep, (), |(), session| Box::pin(step::forget_history(session)));
        let (rows, more) = removed.await?;
        Ok(UpkeepReport::new(rows, more))
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
        let kept = self.shared.limits.error_groups();
        for _ in 0..FOLDS {
            let folded = self.call("fold", Call::Repeatable, kept, |kept, session| {
                Box::pin(step::fold(session, *kept))
            });
            if !folded.await? {
                break;
            }
        }
        Ok(())
    }
}

/// The report of a part of a step. If an open transaction was in its way, the report is empty and
/// says `held`.
fn unless_held(part: Result<UpkeepReport>) -> Result<UpkeepReport> {
    match part {
        Err(error) if error.is_held_up() => {
            tracing::debug!(%error, "expired rows are in use; a later step removes them");
            Ok(UpkeepReport::default().held(true))
        }
        part => part,
    }
}
