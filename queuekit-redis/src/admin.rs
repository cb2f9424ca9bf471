//! Operations of an operator.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use queuekit_core::capability::{
    Admin, CancelOutcome, RescheduleOutcome, RetryOutcome, Why, admit_retries,
};
use queuekit_core::limits::DELAY;
use queuekit_core::queue::{QueuePatch, QueueSettings, in_use};
use queuekit_core::{Error, ErrorKind, JobId, QueueName, Result, Timestamp};
use redis::Value;

use crate::RedisStore;
use crate::codec::{array_of, bytes_of, millis, number_of};
use crate::error::unreadable;
use crate::indeterminate::in_part;
use crate::repeat::Call;
use crate::scripts::Lua;
use crate::settings;
use crate::step::{Acted, Action};

/// The most jobs or keys that one step of placing looks at.
const SLICE: usize = 200;

#[async_trait]
impl Admin for RedisStore {
    /// Looks at each waiting job of the queue once if the order or the rules of partition keys
    /// change.
    async fn configure(&self, queue: &QueueName, patch: &QueuePatch) -> Result<QueueSettings> {
        let store = self.for_one_call();
        let entered = async {
            patch.check()?;
            store.enter_queues(&[queue], true).await
        };
        entered.await.map_err(|error| error.during("configure"))?;
        let (settings, moving) = store.change_settings(queue, patch).await?;
        if moving {
            // The next call continues with keys that are left to be placed.
            store.place(queue, store.time_left() / 2).await.map_err(in_part)?;
        }
        self.stir(std::iter::once(queue));
        Ok(settings)
    }

    async fn remove_queue(&self, queue: &QueueName, force: bool) -> Result<bool> {
        let (store, call) = (self.for_one_call(), Call::Repeatable);
        let mut step = Vec::new();
        let removed = loop {
            let force = u8::from(force).to_string().into_bytes();
            let args = [force, step.clone(), SLICE.to_string().into()];
            let begun = !step.is_empty();
            let answer = store.on_queue("remove_queue", call, Lua::Remove, queue, args).await;
            match answer.map_err(|error| if begun { in_part(error) } else { error })? {
                Value::Int(removed) => break removed == 1,
                Value::BulkString(next) => step = next,
                counts => return Err(still_used(queue, counts).during("remove_queue")),
            }
        };
        let left = store.leave_registry(queue).await;
        let left = left.map_err(|error| if removed { in_part(error) } else { error })?;
        Ok(removed || left)
    }

    async fn cancel(&self, ids: &[JobId]) -> Result<Vec<CancelOutcome>> {
        let acts = ids.iter().map(|id| Action::new("cancel", *id)).collect();
        let outcome = |acted| match acted {
            Acted::Done => CancelOutcome::Cancelled,
            Acted::Requested => CancelOutcome::Requested,
            Acted::Already => CancelOutcome::AlreadyDone,
            Acted::Conflict | Acted::Lost => CancelOutcome::Conflict,
            Acted::Unknown => CancelOutcome::NotFound,
        };
        Ok(self.for_one_call().act("cancel", acts).await?.into_iter().map(outcome).collect())
    }

    async fn retry_after(&self, retries: &[(JobId, Duration)]) -> Result<Vec<RetryOutcome>> {
        admit_retries(retries).map_err(|error| error.during("retry"))?;
        let act = |(id, delay): &(JobId, Duration)| {
            Action::new("retry", *id).with(millis(*delay).to_string())
        };
        let acts = retries.iter().map(act).collect();
        let outcome = |acted| match acted {
            Acted::Done => RetryOutcome::Retried,
            Acted::Unknown => RetryOutcome::NotFound,
            _ => RetryOutcome::Conflict,
        };
        Ok(self.for_one_call().act("retry", acts).await?.into_iter().map(outcome).collect())
    }

    async fn reschedule(&self, ids: &[JobId], delay: Duration) -> Result<Vec<RescheduleOutcome>> {
        if delay > DELAY {
            let error = Error::invalid("delay", "at most 366 days", format!("{delay:?}"));
            return Err(error.during("reschedule"));
        }
        let delay = millis(delay).to_string();
        let act = |id: &JobId| Action::new("reschedule", *id).with(delay.as_str());
        let outcome = |acted| match acted {
            Acted::Done => RescheduleOutcome::Rescheduled,
            Acted::Unknown => RescheduleOutcome::NotFound,
            _ => RescheduleOutcome::Conflict,
        };
        let acts = ids.iter().map(act).collect();
        let acted = self.for_one_call().act("reschedule", acts).await?;
        Ok(acted.into_iter().map(outcome).collect())
    }

    async fn why(&self, id: JobId) -> Result<Option<Why>> {
        self.for_one_call().why_shown(id).await
    }
}

impl RedisStore {
    /// Changes the settings. Returns the new ones, and whether keys have to be placed anew. The
    /// script takes the change only if it is based on the stored settings, so two calls that change
    /// different settings at once both take effect.
    async fn change_settings(
        &self,
        queue: &QueueName,
        patch: &QueuePatch,
    ) -> Result<(QueueSettings, bool)> {
        let configure = async |args| {
            self.on_queue("configure", Call::Repeatable, Lua::Configure, queue, args).await
        };
        let mut answer = configure(Vec::new()).await?;
        while !self.time_left().is_zero() {
            let (now, seen) = stored_at(answer).ok_or_else(|| unreadable("the settings"))?;
            let settings = QueueSettings::from_json(if seen.is_empty() { b"{}" } else { &seen });
            let settings = settings.at(now).patched(patch, now);
            let read = settings::read_by_scripts(&settings).into_iter();
            let read = read.flat_map(|(name, value)| [name.as_bytes().to_vec(), value.into()]);
            let args = [seen, settings.to_json().into_bytes()].into_iter().chain(read);
            answer = configure(args.collect()).await?;
            if let Value::Int(moving) = answer {
                return Ok((settings, moving == 1));
            }
        }
        let message = "other calls keep changing the settings of the queue; repeat it";
        Err(Error::new(ErrorKind::Indeterminate, message).on(queue).during("configure"))
    }

    /// Places the waiting jobs of a queue anew if that is due, step by step, for about
    /// `time`. Returns the number of steps. A call continues what another one has begun.
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

/// The time and the stored document.
fn stored_at(answer: Value) -> Option<(Timestamp, Vec<u8>)> {
    let mut parts = array_of(answer)?.into_iter();
    Some((Timestamp::from_millis(number_of(parts.next()?)?), bytes_of(parts.next()?)?))
}

/// The error for a queue that still has jobs, or running jobs.
fn still_used(queue: &QueueName, counts: Value) -> Error {
    let mut counts = array_of(counts).into_iter().flatten().filter_map(number_of);
    let mut next = || counts.next().unwrap_or_default().cast_unsigned();
    in_use(queue, next(), next())
}
