//! Steps of a run whose results outlive it (contract R13.10).

use std::future::Future;
use std::time::{Duration, Instant};

use queuekit_core::capability::{CheckpointOutcome, KeepCheckpoints, NewCheckpoint};
use queuekit_core::{CheckpointName, Checkpoints, Error, ErrorKind, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::ctx::Ctx;
use super::job_error::{JobError, JobResult};
use super::run::Run;
use super::steps::Begun;

/// The shortest and the longest wait between two tries of a call.
const AGAIN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// The result that the checkpoint of a sleep stores.
#[derive(Serialize, Deserialize)]
struct Sleep {
    sleep_ms: u64,
}

/// Steps. Their results are JSON, at most 64 KiB each and 1 MiB together; a job has at most 64, and
/// their names obey the rule for names. They are kept over retries, releases and lost leases, and
/// removed with the job.
impl Ctx {
    /// Runs a step once for all runs of the job: if an earlier run has done it, this returns what
    /// it returned then, and does not run it.
    ///
    /// The result is stored before this returns. If the worker dies between the end of the step and
    /// that moment, a later run runs the step again; a step that must not happen twice takes the
    /// job's id for its idempotency key, or commits [with its result](Self::new_checkpoint). Steps
    /// with different names may run at the same time.
    ///
    /// ```
    /// use queuekit::{Ctx, JobResult};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Order { id: u64 }
    /// # async fn charge(_order: u64) -> JobResult<String> { Ok(String::new()) }
    /// # async fn ship(_order: u64, _receipt: &str) -> JobResult { Ok(()) }
    ///
    /// async fn fulfil(order: Order, ctx: Ctx) -> JobResult {
    ///     // If `ship` fails, the retry charges nobody again.
    ///     let receipt = ctx.checkpoint("charge", || charge(order.id)).await?;
    ///     ship(order.id, &receipt).await
    /// }
    /// ```
    ///
    /// # Errors
    /// Those of the step. A retry if the lease was lost, the store cannot be reached until the run
    /// should stop, the step runs already, or its result is too large or cannot be read as `T`.
    pub async fn checkpoint<T, E, F>(&self, name: &str, step: impl FnOnce() -> F) -> JobResult<T>
    where
        T: Serialize + DeserializeOwned,
        E: Into<JobError>,
        F: Future<Output = Result<T, E>>,
    {
        let name = CheckpointName::new(name)?;
        let begun = match self.begin(&name).await? {
            Begun::Done(result) => return Ok(read(&name, &result)?),
            Begun::Now(begun) => begun,
        };
        let value = step().await.map_err(Into::into)?;
        let new = self.new_checkpoint(name.as_str(), &value)?;
        self.put(&new).await?;
        begun.store(new.result());
        Ok(value)
    }

    /// What a step has returned in an earlier run, or earlier in this one; `None` if it was not
    /// done.
    ///
    /// # Errors
    /// `LeaseLost`, `Conflict` if the step is running, `Corrupt` if its result cannot be read as
    /// `T`, `Unsupported` if the store keeps no checkpoints, `Unavailable`.
    pub async fn find_checkpoint<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let name = CheckpointName::new(name)?;
        match self.begin(&name).await? {
            Begun::Done(result) => read(&name, &result).map(Some),
            Begun::Now(_) => Ok(None),
        }
    }

    /// The result of a step, for a store's `checkpoint_in`: it is stored in the handler's own
    /// transaction, together with what the step has written there, so that the step takes effect
    /// exactly once. First ask [`find_checkpoint`](Self::find_checkpoint) whether it was done.
    ///
    /// # Errors
    /// `Invalid` if the name breaks its rule or the result is too large.
    pub fn new_checkpoint<T: Serialize>(&self, name: &str, result: &T) -> Result<NewCheckpoint> {
        let bytes = serde_json::to_vec(result).map_err(|error| {
            Error::invalid("checkpoint result", "JSON", &error).on(self.id()).caused_by(error)
        })?;
        NewCheckpoint::new(self.lease_token().clone(), CheckpointName::new(name)?, bytes)
    }

    /// Sleeps without a worker: the first run that comes here is released, and the job runs again
    /// once this time is over; this then returns immediately. It spends no attempt. The job's
    /// deadline continues, and jobs of its partition key wait.
    ///
    /// Steps before it run again unless they are [checkpoints](Self::checkpoint).
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use queuekit::{Ctx, JobResult};
    /// # async fn remind(_n: u32) -> JobResult { Ok(()) }
    ///
    /// async fn reminders((): (), ctx: Ctx) -> JobResult {
    ///     ctx.checkpoint("first", || remind(1)).await?;
    ///     ctx.sleep("week", Duration::from_secs(7 * 24 * 3600)).await?;
    ///     remind(2).await
    /// }
    /// ```
    ///
    /// # Errors
    /// The release, which the handler has to return: use `?`. Else as
    /// [`checkpoint`](Self::checkpoint).
    pub async fn sleep(&self, name: &str, time: Duration) -> JobResult {
        let name = CheckpointName::new(name)?;
        match self.begin(&name).await? {
            Begun::Done(result) => {
                let Sleep { sleep_ms } = read(&name, &result)?;
                let left = self.left_of(&name, Duration::from_millis(sleep_ms));
                if left.is_zero() { Ok(()) } else { Err(JobError::sleep(left)) }
            }
            Begun::Now(begun) => {
                let sleep_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                let new = self.new_checkpoint(name.as_str(), &Sleep { sleep_ms })?;
                self.put(&new).await?;
                begun.store(new.result());
                Err(JobError::sleep(time))
            }
        }
    }

    /// The result of the step if it was done; else it counts as running from now on.
    async fn begin(&self, name: &CheckpointName) -> Result<Begun<'_>> {
        let steps = self.run().steps();
        let earlier = steps.earlier.get_or_try_init(|| self.load()).await?;
        if let Some(done) = earlier.0.stored.iter().find(|stored| stored.name == *name) {
            return Ok(Begun::Done(done.result.clone()));
        }
        steps.begin(name).ok_or_else(|| {
            let message = format!("the step {name:?} is running already in this run");
            Error::new(ErrorKind::Conflict, message).on(self.id())
        })
    }

    /// What earlier runs have stored. The first lease of a job has none.
    async fn load(&self) -> Result<(Checkpoints, Instant)> {
        let (keeps, lease) = (keeps(self.run())?, self.lease_token());
        if lease.lease_seq <= 1 {
            return Ok((Checkpoints::default(), Instant::now()));
        }
        let stored = self.until_answered(|| keeps.checkpoints(lease)).await?.ok_or_else(|| {
            let message = "its steps cannot be read: another worker has the job";
            Error::new(ErrorKind::LeaseLost, message).on(self.id())
        })?;
        Ok((stored, Instant::now()))
    }

    async fn put(&self, new: &NewCheckpoint) -> Result<()> {
        let keeps = keeps(self.run())?;
        // A repeated call stores once.
        let outcome = self.until_answered(|| keeps.put_checkpoint(new)).await?;
        let (kind, what) = match outcome {
            CheckpointOutcome::Stored => return Ok(()),
            CheckpointOutcome::Conflict => (ErrorKind::Conflict, "has another result"),
            CheckpointOutcome::Full => {
                let got = format!("{} bytes more", new.result().len());
                let limit = "at most 64, and 1 MiB together";
                return Err(Error::invalid("checkpoints", limit, got).on(self.id()));
            }
            CheckpointOutcome::LeaseLost | CheckpointOutcome::NotFound => {
                (ErrorKind::LeaseLost, "was not stored: another worker has the job")
            }
        };
        Err(Error::new(kind, format!("the step {:?} {what}", new.name())).on(self.id()))
    }

    /// Makes the call; while the store cannot be reached, again and again until the run should
    /// stop.
    async fn until_answered<T, F>(&self, call: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let mut wait = AGAIN.0;
        loop {
            match call().await {
                Err(error) if is_worth_another(&error) && !self.is_cancelled() => {
                    tracing::debug!(%error, "a call for a checkpoint is repeated");
                }
                answer => return answer,
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => wait = (wait * 2).min(AGAIN.1),
                () = self.cancelled() => {}
            }
        }
    }

    /// How much of a sleep is left, by the store's clock; all of it if this run has begun it.
    fn left_of(&self, name: &CheckpointName, time: Duration) -> Duration {
        let slept = self.run().steps().earlier.get().and_then(|(earlier, read_at)| {
            let begun = earlier.stored.iter().find(|stored| stored.name == *name)?;
            Some(earlier.now.since(begun.at) + read_at.elapsed())
        });
        time.saturating_sub(slept.unwrap_or_default())
    }
}

fn keeps(run: &Run) -> Result<&dyn KeepCheckpoints> {
    run.context.client.backend().capabilities().checkpoints.ok_or_else(|| {
        let message = "this store keeps no checkpoints; use one that does, as all of queuekit do";
        Error::new(ErrorKind::Unsupported, message)
    })
}

fn is_worth_another(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Indeterminate)
}

fn read<T: DeserializeOwned>(name: &CheckpointName, result: &[u8]) -> Result<T> {
    serde_json::from_slice(result).map_err(|error| {
        let message = format!("the result of the step {name:?} does not fit its type: {error}");
        Error::new(ErrorKind::Corrupt, message).caused_by(error)
    })
}
