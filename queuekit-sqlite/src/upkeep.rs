//! Retention, and repair of derived data.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use queuekit_core::capability::{Upkeep, UpkeepReport};
use queuekit_core::{QueueName, Result};

use crate::SqliteStore;
use crate::step::Step;

/// Rows of history that one step removes of each sort.
const STEP: usize = 1000;

/// Partition keys that one step of repair compares with their jobs.
const KEYS: usize = 100;

/// A step of repair counts the jobs of queues with up to this many: more would take too long.
const COUNTED: u64 = 100_000;

/// Where the next step of repair begins.
#[derive(Clone, Debug)]
pub(crate) enum Cursor {
    /// First, the jobs are walked through: after the one of this key.
    Job(i64),
    /// Then each queue is looked at: after this one, or after one of its partition keys.
    Queue { queue: Option<QueueName>, key: Option<String> },
}

impl Default for Cursor {
    fn default() -> Self {
        Self::Job(0)
    }
}

#[async_trait]
impl Upkeep for SqliteStore {
    /// One step looks at 1,000 queues, and removes up to 1,000 jobs; likewise events.
    async fn prune(&self) -> Result<UpkeepReport> {
        let first = self.shared.prune.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let prune = move |step: &mut Step<'_>| step.prune(&first);
        let (jobs, next) = self.write("prune", prune).await?;
        let next = next.map_or_else(String::new, |name| name.as_str().to_owned());
        *self.shared.prune.lock().unwrap_or_else(PoisonError::into_inner) = next;
        let after = self.shared.pruned_events.load(Ordering::Relaxed);
        let (events, next) = self.write("prune", move |step| step.prune_events(after)).await?;
        // At the end it begins again, with the events that deliveries have kept.
        self.shared.pruned_events.store(next.unwrap_or(0), Ordering::Relaxed);
        // If deliveries keep all of them, the next step of upkeep is soon enough.
        let more = jobs.more || (next.is_some() && events > 0);
        let (rows, more_rows) = self.write("prune", |step| step.forget_history(STEP)).await?;
        Ok(UpkeepReport::new(jobs.changed + events + rows, more || more_rows))
    }

    /// Each call looks at 1,000 jobs; and once it has seen all, at one queue and a hundred of its
    /// partition keys.
    async fn repair(&self) -> Result<UpkeepReport> {
        let (changed, cursor) = match self.cursor() {
            Cursor::Job(after) => {
                let (changed, end) = self.repair_jobs(after).await?;
                if let Some(end) = end {
                    self.set_cursor(Cursor::Job(end));
                    return Ok(UpkeepReport::new(changed, true));
                }
                (changed, (None, None))
            }
            Cursor::Queue { queue, key } => (0, (queue, key)),
        };
        let report = self.repair_queue(cursor.0, cursor.1).await?;
        Ok(UpkeepReport::new(changed + report.changed, report.more))
    }
}

impl SqliteStore {
    /// Brings back jobs that have not ended and stand nowhere. Returns the last key looked at, if
    /// there are more.
    async fn repair_jobs(&self, after: i64) -> Result<(u64, Option<i64>)> {
        let look = move |step: &mut Step<'_>| step.jobs_nowhere(after);
        let (nowhere, end) = self.read("repair", look).await?;
        if nowhere.is_empty() {
            return Ok((0, end));
        }
        let changed = self.write("repair", move |step| step.bring_back(&nowhere)).await?;
        Ok((changed, end))
    }

    /// Repairs the next queue, or further keys of the present one.
    async fn repair_queue(
        &self,
        after: Option<QueueName>,
        key: Option<String>,
    ) -> Result<UpkeepReport> {
        let (last, again) = (after.clone(), key.is_some());
        let step = self.read("repair", move |step| step.next_to_repair(last.as_ref(), again));
        let Some(queue) = step.await? else {
            self.set_cursor(Cursor::default());
            return Ok(UpkeepReport::default());
        };
        // A queue that was removed meanwhile has no rest to look at.
        let rest = key.filter(|_| after.as_ref() == Some(&queue));
        let mut changed = 0;
        if rest.is_none() {
            changed += self.clear_places(&queue).await?;
            changed += self.repair_counts(&queue).await?;
        }
        let (name, after) = (queue.clone(), rest);
        let look = move |step: &mut Step<'_>| step.crooked_lanes(&name, after.as_deref(), KEYS);
        let (crooked, key) = self.read("repair", look).await?;
        if !crooked.is_empty() {
            changed += crooked.len() as u64;
            let name = queue.clone();
            self.write("repair", move |step| step.mend_lanes(&name, &crooked)).await?;
        }
        if key.is_none() {
            changed += self.repair_heads(&queue).await?;
        }
        self.set_cursor(Cursor::Queue { queue: Some(queue), key });
        Ok(UpkeepReport::new(changed, true))
    }

    /// Removes places that belong to no job, such as of jobs that were deleted by hand.
    async fn clear_places(&self, queue: &QueueName) -> Result<u64> {
        let name = queue.clone();
        let misplaced = self.read("repair", move |step| step.misplaced(&name, COUNTED)).await?;
        if misplaced.is_empty() {
            return Ok(0);
        }
        let name = queue.clone();
        self.write("repair", move |step| step.clear(&name, COUNTED)).await
    }

    /// A reader looks first, which blocks no writer. The writer checks again what it found: another
    /// process may have repaired it meanwhile.
    async fn repair_counts(&self, queue: &QueueName) -> Result<u64> {
        let name = queue.clone();
        let drift = self.read("repair", move |step| step.drift(&name, COUNTED)).await?;
        if !drift.is_some() {
            return Ok(0);
        }
        let name = queue.clone();
        self.write("repair", move |step| step.repair_counts(&name, COUNTED)).await
    }

    /// Lets ready jobs wait that are not the head of their key, once all keys of the queue are
    /// repaired.
    async fn repair_heads(&self, queue: &QueueName) -> Result<u64> {
        let name = queue.clone();
        let extra = self.read("repair", move |step| step.extra_heads(&name, COUNTED)).await?;
        if extra.is_empty() {
            return Ok(0);
        }
        let name = queue.clone();
        self.write("repair", move |step| step.return_heads(&name, &extra)).await
    }

    fn cursor(&self) -> Cursor {
        self.shared.repair.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_cursor(&self, cursor: Cursor) {
        *self.shared.repair.lock().unwrap_or_else(PoisonError::into_inner) = cursor;
    }
}
