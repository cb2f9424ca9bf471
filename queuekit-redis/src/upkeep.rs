//! Retention, and mending what is derived.

use std::sync::Mutex;
use std::sync::PoisonError;

use async_trait::async_trait;
use queuekit_core::capability::{Upkeep, UpkeepReport};
use queuekit_core::limits::RETENTION_GRACE;
use queuekit_core::{QueueName, Result};

use crate::RedisStore;
use crate::call::Call;
use crate::codec::{array_of, millis, number_of};
use crate::error::unreadable;
use crate::scripts::Lua;

/// Jobs one step removes at most, and idempotency keys it forgets at most, over all queues.
const STEP: usize = 1000;
/// Likewise one script.
const SLICE: usize = 200;

/// The queue with which the next step of repair begins.
#[derive(Debug, Default)]
pub(crate) struct Cursor(Mutex<Option<QueueName>>);

#[async_trait]
impl Upkeep for RedisStore {
    async fn prune(&self) -> Result<UpkeepReport> {
        let jobs = self.prune_jobs().await.map_err(|error| error.during("prune"))?;
        let (events, goes_on) = self.prune_events().await.map_err(|error| error.during("prune"))?;
        // Where deliveries keep all of them, the next step of upkeep is soon enough.
        let more = jobs.more || (goes_on && events > 0);
        Ok(UpkeepReport { changed: jobs.changed + events, more, ..UpkeepReport::default() })
    }

    /// One queue per call. What is derived changes with what it is derived of, in one step, so all
    /// there can be is a placing of keys that nobody has gone on with.
    async fn repair(&self) -> Result<UpkeepReport> {
        let queues = self.all_queues().await.map_err(|error| error.during("repair"))?;
        let next = {
            let mut cursor = self.shared.repair.0.lock().unwrap_or_else(PoisonError::into_inner);
            let after = cursor.take();
            let next = queues.into_iter().find(|queue| after.as_ref().is_none_or(|at| queue > at));
            cursor.clone_from(&next);
            next
        };
        let Some(queue) = next else {
            return Ok(UpkeepReport::default());
        };
        let changed = self.place(&queue, self.shared.op_timeout).await?;
        Ok(UpkeepReport { changed, more: true, ..UpkeepReport::default() })
    }
}

impl RedisStore {
    async fn prune_jobs(&self) -> Result<UpkeepReport> {
        let mut report = UpkeepReport::default();
        let mut left = STEP;
        for queue in self.all_queues().await? {
            loop {
                let most = left.min(SLICE);
                if most == 0 {
                    report.more = true;
                    return Ok(report);
                }
                let (removed, forgotten) = self.prune_queue(&queue, most).await?;
                report.changed += removed as u64;
                left -= removed.max(forgotten);
                if removed < most && forgotten < most {
                    break;
                }
            }
        }
        Ok(report)
    }

    async fn prune_queue(&self, queue: &QueueName, most: usize) -> Result<(usize, usize)> {
        let args = [most as u64, millis(RETENTION_GRACE)];
        let args = args.map(|number| number.to_string().into_bytes());
        let answer = self.on_queue("prune", Call::Repeatable, Lua::Prune, queue, args).await?;
        let mut counts = array_of(answer).into_iter().flatten().filter_map(number_of);
        let mut count = || counts.next().and_then(|count| usize::try_from(count).ok());
        let counts = count().zip(count());
        counts.ok_or_else(|| unreadable("the answer to prune"))
    }
}
