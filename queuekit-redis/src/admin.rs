//! What an operator does.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use queuekit_core::capability::{Admin, CancelOutcome, RescheduleOutcome, RetryOutcome, Why};
use queuekit_core::limits::DELAY;
use queuekit_core::queue::{QueuePatch, QueueSettings};
use queuekit_core::{Error, ErrorKind, JobId, QueueName, Result};
use redis::Value;

use crate::RedisStore;
use crate::call::Call;
use crate::codec::{array_of, bytes_of, millis, number_of};
use crate::doubt::in_part;
use crate::error::unreadable;
use crate::scripts::Lua;
use crate::settings;
use crate::step::{Act, Acted};

/// Jobs or keys that one step of placing looks at.
const SLICE: usize = 200;

#[async_trait]
impl Admin for RedisStore {
    /// A change of order or of what keys do looks at each waiting job of the queue once.
    async fn configure(&self, queue: &QueueName, patch: &QueuePatch) -> Result<QueueSettings> {
        let begun = Instant::now();
        let entered = self.enter_queues(&[queue], true).await;
        entered.map_err(|error| error.during("configure"))?;
        // Two that change different settings at once both have their way.
        let bare = QueueSettings::default();
        let all = settings::fields(&bare.clone().patched(patch));
        let unset = settings::fields(&opposite(&bare).patched(patch));
        let set = all.into_iter().zip(unset).filter(|(one, other)| one == other);
        let args: Vec<Vec<u8>> = set
            .flat_map(|((name, value), _)| [name.to_owned().into_bytes(), value.into_bytes()])
            .collect();
        let answer =
            self.on_queue("configure", Call::Repeatable, Lua::Configure, queue, args).await?;
        let mut answer = array_of(answer).ok_or_else(|| unreadable("the settings"))?.into_iter();
        let moving = answer.next().and_then(number_of) == Some(1);
        let stored = settings::settings(&fields_of(answer));
        if moving {
            // What is left to be placed, the next call goes on with.
            let left = self.shared.op_timeout.saturating_sub(begun.elapsed());
            self.place(queue, left).await.map_err(in_part)?;
        }
        self.stir(std::iter::once(queue));
        Ok(stored)
    }

    async fn remove_queue(&self, queue: &QueueName, force: bool) -> Result<bool> {
        let call = Call::Repeatable;
        let mut step = Vec::new();
        let removed = loop {
            let force = u8::from(force).to_string().into_bytes();
            let args = [force, step.clone(), SLICE.to_string().into()];
            let begun = !step.is_empty();
            let answer = self.on_queue("remove_queue", call, Lua::Remove, queue, args).await;
            match answer.map_err(|error| if begun { in_part(error) } else { error })? {
                Value::Int(removed) => break removed == 1,
                Value::BulkString(next) => step = next,
                counts => return Err(still_used(queue, counts).during("remove_queue")),
            }
        };
        let left = self.leave_registry(queue).await;
        let left = left.map_err(|error| if removed { in_part(error) } else { error })?;
        Ok(removed || left)
    }

    async fn cancel(&self, ids: &[JobId]) -> Result<Vec<CancelOutcome>> {
        let acts = ids.iter().map(|id| Act::new("cancel", *id)).collect();
        let outcome = |acted| match acted {
            Acted::Done => CancelOutcome::Cancelled,
            Acted::Requested => CancelOutcome::Requested,
            Acted::Already => CancelOutcome::AlreadyDone,
            Acted::Conflict | Acted::Lost => CancelOutcome::Conflict,
            Acted::Unknown => CancelOutcome::NotFound,
        };
        Ok(self.act("cancel", acts).await?.into_iter().map(outcome).collect())
    }

    async fn retry(&self, ids: &[JobId]) -> Result<Vec<RetryOutcome>> {
        let acts = ids.iter().map(|id| Act::new("retry", *id)).collect();
        let outcome = |acted| match acted {
            Acted::Done => RetryOutcome::Retried,
            Acted::Unknown => RetryOutcome::NotFound,
            _ => RetryOutcome::Conflict,
        };
        Ok(self.act("retry", acts).await?.into_iter().map(outcome).collect())
    }

    async fn reschedule(&self, ids: &[JobId], delay: Duration) -> Result<Vec<RescheduleOutcome>> {
        if delay > DELAY {
            let error = Error::invalid("delay", "at most 366 days", format!("{delay:?}"));
            return Err(error.during("reschedule"));
        }
        let delay = millis(delay).to_string();
        let act = |id: &JobId| Act::new("reschedule", *id).with(delay.as_str());
        let outcome = |acted| match acted {
            Acted::Done => RescheduleOutcome::Rescheduled,
            Acted::Unknown => RescheduleOutcome::NotFound,
            _ => RescheduleOutcome::Conflict,
        };
        let acted = self.act("reschedule", ids.iter().map(act).collect()).await?;
        Ok(acted.into_iter().map(outcome).collect())
    }

    async fn why(&self, id: JobId) -> Result<Option<Why>> {
        self.why_shown(id).await
    }
}

impl RedisStore {
    /// Places the waiting jobs of a queue anew where that is due, step by step, for so long at
    /// most; how many steps it took. Whoever comes first goes on with what another began.
    pub(crate) async fn place(&self, queue: &QueueName, time: Duration) -> Result<u64> {
        let (mut steps, begun) = (0, Instant::now());
        loop {
            let args = [SLICE.to_string().into_bytes()];
            let answer =
                self.on_queue("configure", Call::Repeatable, Lua::Place, queue, args).await?;
            if number_of(answer) != Some(1) {
                return Ok(steps);
            }
            steps += 1;
            if begun.elapsed() >= time {
                return Ok(steps);
            }
        }
    }
}

/// Why a queue is not removed: its jobs, and those of them that run.
fn still_used(queue: &QueueName, counts: Value) -> Error {
    let counts: Vec<i64> = array_of(counts).into_iter().flatten().filter_map(number_of).collect();
    let (jobs, running) = (counts.first().unwrap_or(&0), counts.get(1).unwrap_or(&0));
    let message = format!(
        "it has {jobs} jobs, {running} of them running; drain it, or use force once none runs"
    );
    Error::new(ErrorKind::Conflict, message).on(queue)
}

/// Settings of which none is as in `bare`: what is equal after a patch on both was in the patch.
fn opposite(bare: &QueueSettings) -> QueueSettings {
    use queuekit_core::queue::{Keep, KeyOnDead, KeyOnWait, Order, Retention};
    let day = Some(Duration::from_secs(86_400 * 2));
    let keep = Keep::new(day, Some(u64::MAX), Some(u64::MAX)).unwrap_or(Keep::ALL);
    let mut settings = bare.clone();
    settings.paused = !bare.paused;
    settings.max_pending = Some(u64::MAX);
    settings.per_key = 0;
    settings.key_on_wait = KeyOnWait::Skip;
    settings.key_on_dead = KeyOnDead::Hold;
    settings.order = Order::Fair;
    settings.dedup_window = Duration::MAX;
    settings.retention = Retention { done: keep, dead: keep };
    settings
}

/// Names and values in turn.
pub(crate) fn fields_of(mut values: impl Iterator<Item = Value>) -> HashMap<String, Vec<u8>> {
    let mut fields = HashMap::new();
    while let (Some(name), Some(value)) = (values.next(), values.next()) {
        if let (Some(Ok(name)), Some(value)) =
            (bytes_of(name).map(String::from_utf8), bytes_of(value))
        {
            fields.insert(name, value);
        }
    }
    fields
}
