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

/// Where the next step of repair begins: after a queue and one of its keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cursor {
    queue: Option<QueueName>,
    key: Option<String>,
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

    /// Repairs one queue per call, and a hundred of its partition keys.
    async fn repair(&self) -> Result<UpkeepReport> {
        let cursor = self.cursor();
        let after = cursor.clone();
        let step = self.read("repair", move |step| {
            step.next_to_repair(after.queue.as_ref(), after.key.is_some())
        });
        let Some(queue) = step.await? else {
            self.set_cursor(Cursor::default());
            return Ok(UpkeepReport::default());
        };
        // A queue that was removed meanwhile has no rest to look at.
        let rest = cursor.key.filter(|_| cursor.queue.as_ref() == Some(&queue));
        let mut changed = 0;
        if rest.is_none() {
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
            changed += self.repair_open(&queue).await?;
        }
        self.set_cursor(Cursor { queue: Some(queue), key });
        Ok(UpkeepReport::new(changed, true))
    }
}

impl SqliteStore {
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

    /// Repairs which jobs are open in the same way, once all keys of the queue are repaired.
    async fn repair_open(&self, queue: &QueueName) -> Result<u64> {
        let name = queue.clone();
        let wrong = self.read("repair", move |step| step.wrongly_open(&name, COUNTED)).await?;
        if wrong.is_empty() {
            return Ok(0);
        }
        let name = queue.clone();
        self.write("repair", move |step| step.repair_open(&name, &wrong)).await
    }

    fn cursor(&self) -> Cursor {
        self.shared.repair.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_cursor(&self, cursor: Cursor) {
        *self.shared.repair.lock().unwrap_or_else(PoisonError::into_inner) = cursor;
    }
}
