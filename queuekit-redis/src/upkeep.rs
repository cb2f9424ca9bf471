//! Retention, and repair of derived data.

use std::ops::Bound;
use std::sync::Mutex;
use std::sync::PoisonError;

use async_trait::async_trait;
use queuekit_core::capability::{Upkeep, UpkeepReport};
use queuekit_core::limits::RETENTION_GRACE;
use queuekit_core::{QueueName, Result};

use crate::RedisStore;
use crate::codec::{array_of, millis, number_of};
use crate::error::unreadable;
use crate::repeat::Call;
use crate::scripts::Lua;

/// The most jobs that one step removes, and the most idempotency keys that it forgets, over all
/// queues.
const STEP: usize = 1000;
/// The same for one script.
const SLICE: usize = 200;

/// The most queues that one step looks at.
const QUEUES: usize = 200;

/// The queue after which the next step begins.
#[derive(Debug, Default)]
pub(crate) struct Cursor(Mutex<Option<QueueName>>);

impl Cursor {
    fn get(&self) -> Option<QueueName> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, queue: Option<QueueName>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = queue;
    }
}

#[async_trait]
impl Upkeep for RedisStore {
    async fn prune(&self) -> Result<UpkeepReport> {
        let store = self.for_one_call();
        let jobs = store.prune_jobs().await.map_err(|error| error.during("prune"))?;
        let (events, goes_on) =
            store.prune_events().await.map_err(|error| error.during("prune"))?;
        // If deliveries keep all of them, the next step of upkeep is soon enough.
        let more = jobs.more || (goes_on && events > 0);
        let (rows, more_rows) = store.forget_history().await?;
        Ok(UpkeepReport::new(jobs.changed + events + rows, more || more_rows))
    }

    /// Repairs one queue per call. Scripts change derived data together with its source, so the
    /// only thing to repair is a placing of keys that was not completed.
    async fn repair(&self) -> Result<UpkeepReport> {
        let store = self.for_one_call();
        let after = self.shared.repair.get();
        let from = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let next = store.queues_from(from, 1).await.map_err(|error| error.during("repair"))?.pop();
        self.shared.repair.set(next.clone());
        let Some(queue) = next else {
            return Ok(UpkeepReport::default());
        };
        let changed = store.place(&queue, store.time_left() / 2).await?;
        Ok(UpkeepReport::new(changed, true))
    }
}

impl RedisStore {
    /// Continues where the last step ended. Jobs of queues before that place are left to the next
    /// round.
    async fn prune_jobs(&self) -> Result<UpkeepReport> {
        let mut report = UpkeepReport::default();
        let (mut left, mut after) = (STEP, self.shared.pruned.get());
        let from = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let queues = self.queues_from(from, QUEUES + 1).await?;
        for (looked_at, queue) in queues.into_iter().enumerate() {
            loop {
                let most = left.min(SLICE);
                if most == 0 || looked_at == QUEUES || self.is_late() {
                    report.more = true;
                    self.shared.pruned.set(after);
                    return Ok(report);
                }
                let (removed, forgotten, ended_early) = self.prune_queue(&queue, most).await?;
                report.changed += removed as u64;
                left -= removed.max(forgotten);
                if removed < most && forgotten < most && !ended_early {
                    break;
                }
            }
            after = Some(queue);
        }
        self.shared.pruned.set(None);
        Ok(report)
    }

    /// How many jobs were removed, how many idempotency keys forgotten, and whether the script has
    /// ended early, because the jobs were large.
    async fn prune_queue(&self, queue: &QueueName, most: usize) -> Result<(usize, usize, bool)> {
        let args = [most as u64, millis(RETENTION_GRACE)];
        let args = args.map(|number| number.to_string().into_bytes());
        let answer = self.on_queue("prune", Call::Repeatable, Lua::Prune, queue, args).await?;
        let mut counts = array_of(answer).into_iter().flatten().filter_map(number_of);
        let mut count = || counts.next().and_then(|count| usize::try_from(count).ok());
        let counts = (|| Some((count()?, count()?, count()? == 1)))();
        counts.ok_or_else(|| unreadable("the answer to prune"))
    }
}
