//! Drafts of jobs.

use std::time::Duration;

use bytes::Bytes;

use super::{JobId, Metadata, NewJob, Priority, Start};
use crate::clock::{Clock, SystemClock, Timestamp};
use crate::error::{Error, Result};
use crate::event::EventId;
use crate::limits::{DELAY, MAX_ATTEMPTS, PAYLOAD_BYTES_HARD, TIMEOUT};
use crate::names::{IdempotencyKey, Kind, PartitionKey, QueueName};

/// Stores count in milliseconds.
const MILLISECOND: Duration = Duration::from_millis(1);

/// Describes a job. [`build`](Self::build) checks it, and its error names what is wrong.
///
/// A setter keeps an invalid value until then, so that calls can be chained without `?`.
///
/// ```
/// use std::time::Duration;
/// use queuekit::{JobDraft, Priority};
///
/// let job = JobDraft::new("resize", r#"{"image": 7}"#)
///     .queue("images")
///     .priority(Priority::HIGH)
///     .delay(Duration::from_secs(60))
///     .metadata([("tenant", "acme")])
///     .build()?;
/// assert_eq!(job.queue().as_str(), "images");
///
/// let error = JobDraft::new("resize", "").max_attempts(0).build().unwrap_err();
/// assert_eq!(error.to_string(), "max_attempts must be 1..=1000; got 0");
/// # Ok::<_, queuekit::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a draft enqueues nothing"]
pub struct JobDraft {
    job: Result<NewJob>,
    id: Option<JobId>,
}

impl JobDraft {
    /// A job of this kind with these bytes, with the defaults of contract R2.1.
    pub fn new<K>(kind: K, payload: impl Into<Bytes>) -> Self
    where
        K: TryInto<Kind, Error: Into<Error>>,
    {
        let payload = payload.into();
        let job = kind.try_into().map_err(Into::into).and_then(|kind| {
            let got = format!("{} bytes", payload.len());
            within("payload", payload.len() <= PAYLOAD_BYTES_HARD, "at most 16 MiB", got)?;
            Ok(NewJob::with_defaults(kind, payload))
        });
        Self { job, id: None }
    }

    /// A draft that answers this error when it is built.
    pub(super) fn invalid(error: Error) -> Self {
        Self { job: Err(error), id: None }
    }

    /// The queue (default `default`).
    pub fn queue<Q>(self, queue: Q) -> Self
    where
        Q: TryInto<QueueName, Error: Into<Error>>,
    {
        self.try_set(queue, |job, queue| job.queue = queue)
    }

    /// The priority (default normal): [`Priority::HIGH`], or a level 0..=31 as `u8`.
    pub fn priority<P>(self, priority: P) -> Self
    where
        P: TryInto<Priority, Error: Into<Error>>,
    {
        self.try_set(priority, |job, priority| job.priority = priority)
    }

    /// The attempts before the job is dead-lettered (default 3); 1..=1000.
    pub fn max_attempts(self, max_attempts: u32) -> Self {
        self.check(|job| {
            let valid = (1..=MAX_ATTEMPTS).contains(&max_attempts);
            within("max_attempts", valid, "1..=1000", max_attempts)?;
            job.max_attempts = max_attempts;
            Ok(())
        })
    }

    /// How long the job waits before it may run (default 0); at most 366 days.
    pub fn delay(self, delay: Duration) -> Self {
        self.check(|job| {
            within("delay", delay <= DELAY, "at most 366 days", format!("{delay:?}"))?;
            job.start = Start::After(delay);
            Ok(())
        })
    }

    /// When the job may run, by the store's clock; immediately if that time has passed. The store
    /// refuses a time that is more than 366 days ahead.
    pub fn run_at(self, at: impl Into<Timestamp>) -> Self {
        let at = at.into();
        self.set(|job| job.start = Start::At(at))
    }

    /// The longest time of one run (default 30 min).
    pub fn timeout(self, timeout: Duration) -> Self {
        self.check(|job| {
            let valid = (MILLISECOND..=TIMEOUT).contains(&timeout);
            within("timeout", valid, "1 ms..=366 days", format!("{timeout:?}"))?;
            job.timeout = timeout;
            Ok(())
        })
    }

    /// How long after the enqueue the job may still be started (default: no limit); at most 366
    /// days.
    pub fn deadline(self, deadline: Duration) -> Self {
        self.check(|job| {
            let valid = (MILLISECOND..=DELAY).contains(&deadline);
            within("deadline", valid, "1 ms..=366 days", format!("{deadline:?}"))?;
            job.deadline = Some(deadline);
            Ok(())
        })
    }

    /// An idempotency key: the queue stores only one job with this key (contract R2.5).
    pub fn idempotency_key<K>(self, key: K) -> Self
    where
        K: TryInto<IdempotencyKey, Error: Into<Error>>,
    {
        self.try_set(key, |job, key| job.idempotency_key = Some(key))
    }

    /// Frees the [idempotency key](Self::idempotency_key), which the job must have, as soon as the
    /// job has ended.
    pub fn unique_until_done(self) -> Self {
        self.set(|job| job.unique_until_done = true)
    }

    /// A partition key: jobs with the same key run in order (contract R7.3).
    pub fn partition_key<K>(self, key: K) -> Self
    where
        K: TryInto<PartitionKey, Error: Into<Error>>,
    {
        self.try_set(key, |job, key| job.partition_key = Some(key))
    }

    /// Names and values that travel with the job (default none), such as `[("tenant", "acme")]`.
    pub fn metadata(self, metadata: impl Into<Metadata>) -> Self {
        let metadata = metadata.into();
        self.set(|job| job.metadata.replace(metadata))
    }

    /// Sets an id that was made earlier, for a call that may be repeated. It must belong to the
    /// job's queue.
    pub fn id(mut self, id: JobId) -> Self {
        self.id = Some(id);
        self
    }

    /// Whether it has an id of its own.
    pub(crate) fn has_id(&self) -> bool {
        self.id.is_some()
    }

    /// The job in another queue that this one replaces. The new id is computed from its id
    /// (contract R6.5).
    pub fn moved_from(self, old: JobId) -> Self {
        self.set(|job| job.moved_from = Some(old))
    }

    /// Checks the job.
    ///
    /// # Errors
    /// `Invalid`. It names the first field that breaks its limit.
    pub fn build(self) -> Result<NewJob> {
        let mut job = self.job?;
        let queue = &job.queue;
        let open = !queue.is_reserved();
        within("queue", open, "outside the reserved prefixes event. and queuekit.", queue)?;
        let keyed = job.idempotency_key.is_some() || !job.unique_until_done;
        let limit = "set together with an idempotency key";
        within("unique_until_done", keyed, limit, "a job without one")?;
        job.id = match (self.id, job.moved_from) {
            (Some(id), _) => {
                within("id", id.belongs_to(queue), "an id of the job's queue", id)?;
                let is_own = job.moved_from.is_some_and(|old| old.moved_to(queue) == id);
                let limit = "a UUIDv7: those of version 8 are of schedules, events and moves";
                within("id", is_own || !id.is_derived(), limit, id)?;
                id
            }
            (None, Some(old)) => old.moved_to(queue),
            (None, None) => JobId::generate(queue, id_time()),
        };
        Ok(job)
    }

    /// The job under an id that was derived.
    pub(crate) fn build_as(self, id: JobId) -> Result<NewJob> {
        Ok(NewJob { id, ..self.build()? })
    }

    /// The delivery of an event, under this id.
    pub(crate) fn delivery(self, event: EventId, id: JobId) -> Result<NewJob> {
        let job = self.set(|job| {
            job.event = Some(event);
            job.id = id;
        });
        job.job
    }

    fn set(mut self, set: impl FnOnce(&mut NewJob)) -> Self {
        if let Ok(job) = &mut self.job {
            set(job);
        }
        self
    }

    fn check(mut self, set: impl FnOnce(&mut NewJob) -> Result<()>) -> Self {
        if let Ok(job) = &mut self.job
            && let Err(error) = set(job)
        {
            self.job = Err(error);
        }
        self
    }

    fn try_set<T, U>(self, value: T, set: impl FnOnce(&mut NewJob, U)) -> Self
    where
        T: TryInto<U, Error: Into<Error>>,
    {
        self.check(|job| {
            set(job, value.try_into().map_err(Into::into)?);
            Ok(())
        })
    }
}

/// The time only makes ids sort roughly by age. No rule depends on this clock.
fn id_time() -> Timestamp {
    SystemClock::default().now()
}

fn within(
    field: &'static str,
    valid: bool,
    limit: &str,
    got: impl std::fmt::Display,
) -> Result<()> {
    if valid { Ok(()) } else { Err(Error::invalid(field, limit, got)) }
}

impl TryFrom<JobDraft> for NewJob {
    type Error = Error;

    fn try_from(draft: JobDraft) -> Result<Self> {
        draft.build()
    }
}

impl From<NewJob> for JobDraft {
    fn from(job: NewJob) -> Self {
        Self { id: Some(job.id), job: Ok(job) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2_5_a_job_is_unique_until_done_only_by_a_key() {
        let draft = || JobDraft::new("work", "").unique_until_done();
        let error = draft().build().unwrap_err();
        let wanted = "unique_until_done must be set together with an idempotency key";
        assert!(error.to_string().starts_with(wanted), "{error}");
        assert!(draft().idempotency_key("k").build().unwrap().unique_until_done());
    }
}
