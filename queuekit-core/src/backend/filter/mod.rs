//! Which jobs to list.

mod cursor;

use std::time::{Duration, Instant};

use super::{Cursor, IdPrefix, MetadataTerm, PageSize, PayloadTerm, TimeRange};
use crate::clock::Timestamp;
use crate::error::{Error, Result, parsed};
use crate::error_group::{GroupId, Signature};
use crate::job::{Job, JobId, State, Status, StatusSet};
use crate::limits::PAGE_EXAMINED;
use crate::names::{Kind, PartitionKey, QueueName, WorkerId};

/// Which jobs to list (contract R8.2); the default lists all.
///
/// A setter that is given something invalid remembers it; [`check`](Self::check), and so every
/// listing, answers it.
///
/// ```
/// use queuekit::jobs::JobFilter;
/// use queuekit::{Client, State};
/// use queuekit::memory::MemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit::Result<()> {
/// # let client = Client::new(MemoryStore::new());
/// let filter = JobFilter::default().queue("emails").status(State::Dead).error_contains("timeout");
/// for job in client.jobs().list(&filter).await?.items {
///     println!("{} died: {:?}", job.id, job.reason);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct JobFilter {
    /// Only jobs whose id begins with these digits.
    pub id: Option<IdPrefix>,
    /// Only jobs of this queue.
    pub queue: Option<QueueName>,
    /// Only jobs with one of these statuses.
    pub statuses: StatusSet,
    /// Only jobs of this kind.
    pub kind: Option<Kind>,
    /// Only jobs of this partition key.
    pub partition_key: Option<PartitionKey>,
    /// Only jobs that this worker runs, or was the last to run.
    pub worker: Option<WorkerId>,
    /// Only dead or failed jobs whose reason or last error contains this text.
    pub error_contains: Option<String>,
    /// Only dead jobs of this error group.
    pub group: Option<GroupId>,
    /// Only jobs whose metadata has this value.
    pub metadata: Option<MetadataTerm>,
    /// Only jobs whose payload has this text at this path.
    pub payload: Option<PayloadTerm>,
    /// Only jobs enqueued in this range.
    pub created: TimeRange,
    /// Only jobs that ended in this range.
    pub finished: TimeRange,
    /// The most jobs on a page.
    pub limit: PageSize,
    /// Only ended jobs, over all queues by the time of their end, the newest first.
    pub recent: bool,
    /// Where the last page ended.
    pub cursor: Option<Cursor>,
    /// The most jobs that a page looks at; none for as many as it may.
    examining: Option<usize>,
    /// How long a page may read; none for as long as it takes.
    within: Option<Duration>,
    /// What the first setter that was given something invalid says.
    refused: Option<Error>,
}

impl JobFilter {
    /// Only jobs of this queue.
    pub fn queue<Q: TryInto<QueueName, Error: Into<Error>>>(self, queue: Q) -> Self {
        self.try_set(queue, |filter, queue| filter.queue = Some(queue))
    }

    /// Only jobs with this state, this status, or one of these statuses.
    pub fn status(mut self, statuses: impl Into<StatusSet>) -> Self {
        self.statuses = statuses.into();
        self
    }

    /// Only jobs of this kind.
    pub fn kind<K: TryInto<Kind, Error: Into<Error>>>(self, kind: K) -> Self {
        self.try_set(kind, |filter, kind| filter.kind = Some(kind))
    }

    /// Only jobs with this partition key.
    pub fn partition_key<K: TryInto<PartitionKey, Error: Into<Error>>>(self, key: K) -> Self {
        self.try_set(key, |filter, key| filter.partition_key = Some(key))
    }

    /// Only jobs held, or last held, by this worker.
    pub fn worker<W: TryInto<WorkerId, Error: Into<Error>>>(self, worker: W) -> Self {
        self.try_set(worker, |filter, worker| filter.worker = Some(worker))
    }

    /// Only dead or failed jobs whose reason or last error contains this text.
    pub fn error_contains(mut self, text: impl Into<String>) -> Self {
        self.error_contains = Some(text.into());
        self
    }

    /// Only dead jobs of this error group: those that died of an error of its kind and signature.
    /// Without other statuses only dead jobs are examined.
    pub fn group<G: TryInto<GroupId, Error: Into<Error>>>(self, group: G) -> Self {
        self.try_set(group, |filter, group| {
            filter.group = Some(group);
            if filter.statuses == StatusSet::ALL {
                filter.statuses = State::Dead.into();
            }
        })
    }

    /// Only jobs whose id begins with these hexadecimal digits; dashes do not count.
    pub fn id<I: TryInto<IdPrefix, Error: Into<Error>>>(self, prefix: I) -> Self {
        self.try_set(prefix, |filter, prefix| filter.id = Some(prefix))
    }

    /// Only jobs whose metadata has this value of this name: `tenant:acme`.
    pub fn metadata<M: TryInto<MetadataTerm, Error: Into<Error>>>(self, term: M) -> Self {
        self.try_set(term, |filter, term| filter.metadata = Some(term))
    }

    /// Only jobs whose payload is JSON and has a scalar of this text at this path: `user.id:7`.
    pub fn payload<P: TryInto<PayloadTerm, Error: Into<Error>>>(self, term: P) -> Self {
        self.try_set(term, |filter, term| filter.payload = Some(term))
    }

    /// Only enqueued in this time, such as `yesterday..today` or `yesterday..`.
    pub fn created(mut self, range: impl Into<TimeRange>) -> Self {
        self.created = range.into();
        self
    }

    /// Only ended in this time.
    pub fn finished(mut self, range: impl Into<TimeRange>) -> Self {
        self.finished = range.into();
        self
    }

    /// Only ended jobs, by the time of their end and no matter of which queue, the newest first.
    /// Without a queue, the store may have at most
    /// [`RECENT_QUEUES`](crate::limits::RECENT_QUEUES).
    pub fn recent(mut self) -> Self {
        self.recent = true;
        self
    }

    /// At most this many on a page (default 100); 1..=1000.
    pub fn limit(self, jobs: usize) -> Self {
        self.set(PageSize::new(jobs), |filter, limit| filter.limit = limit)
    }

    /// Bounds the time of a page, for filters that match few of very many jobs (contract R8.8). A
    /// page that has looked at as many jobs as its limit begins no further read once this time has
    /// passed since it began. It may then be short or empty, and still have a cursor.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use queuekit::jobs::JobFilter;
    /// let rare = JobFilter::default().kind("rare").within(Duration::from_millis(25));
    /// ```
    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// From where the last page ended.
    pub fn after(mut self, cursor: Option<Cursor>) -> Self {
        self.cursor = cursor;
        self
    }

    /// Whether all its setters were given something valid.
    ///
    /// # Errors
    /// `Invalid`, naming the first field that breaks its limit.
    pub fn check(&self) -> Result<()> {
        let is_ended = |status: Status| status.state().is_terminal();
        let asks_for_others =
            self.statuses != StatusSet::ALL && !self.statuses.iter().all(is_ended);
        if self.recent && asks_for_others {
            let limit = "asked of dead, cancelled and completed jobs only";
            return Err(Error::invalid("recent", limit, "another status"));
        }
        self.refused.clone().map_or(Ok(()), Err)
    }

    fn try_set<T, U>(self, value: T, set: impl FnOnce(&mut Self, U)) -> Self
    where
        T: TryInto<U, Error: Into<Error>>,
    {
        self.set(parsed(value), set)
    }

    fn set<U>(mut self, value: Result<U>, set: impl FnOnce(&mut Self, U)) -> Self {
        match value {
            Ok(value) => set(&mut self, value),
            Err(error) => drop(self.refused.get_or_insert(error)),
        }
        self
    }

    /// Whether the filter matches a job, but for its content.
    pub fn admits_job(&self, job: &Job) -> bool {
        let listed = Listed {
            id: job.id,
            status: job.status,
            kind: job.kind.as_str(),
            partition_key: job.partition_key.as_ref().map(|key| key.as_str()),
            worker: job.worker.as_ref().map(|worker| worker.as_str()),
            created_at: job.created_at,
            finished_at: job.finished_at,
        };
        let last = job.errors.last().map(|failure| failure.error.as_str());
        let reason = job.reason.as_ref().map(|reason| reason.as_str());
        self.admits(&listed)
            && self.admits_error(job.status, listed.kind, JobErrors { last, reason })
    }

    /// Whether the filter matches a job, as far as these facts show.
    pub fn admits(&self, job: &Listed<'_>) -> bool {
        let in_time = self.created.contains(job.created_at)
            && (self.finished.is_unbounded()
                || job.finished_at.is_some_and(|at| self.finished.contains(at)));
        let key = self.partition_key.as_ref().map(|key| key.as_str());
        let worker = self.worker.as_ref().map(|worker| worker.as_str());
        self.statuses.contains(job.status)
            && self.id.as_ref().is_none_or(|prefix| prefix.matches(job.id))
            && self.kind.as_ref().is_none_or(|kind| kind.as_str() == job.kind)
            && (key.is_none() || job.partition_key == key)
            && (worker.is_none() || job.worker == worker)
            && in_time
    }

    /// Whether the filter matches the last error and the reason of a job. Only dead and failed
    /// jobs show an error text, and only dead ones are of an error group, that of their reason.
    pub fn admits_error(&self, status: Status, kind: &str, errors: JobErrors<'_>) -> bool {
        let JobErrors { last, reason } = errors;
        let in_text = self.error_contains.as_ref().is_none_or(|wanted| {
            let shows = matches!(status, Status::Dead | Status::Failed);
            shows && [last, reason].into_iter().flatten().any(|text| text.contains(wanted))
        });
        let in_group = |wanted: GroupId| {
            let reason = reason.filter(|_| status == Status::Dead);
            reason.is_some_and(|reason| GroupId::of(kind, &Signature::of(reason)) == wanted)
        };
        in_text && self.group.is_none_or(in_group)
    }

    /// Whether it asks for the error of a job, which not every store has at hand.
    pub fn needs_error(&self) -> bool {
        self.error_contains.is_some() || self.group.is_some()
    }

    /// Whether the filter matches the metadata and the payload of a job.
    pub fn admits_content(&self, job: &Job) -> bool {
        self.metadata.as_ref().is_none_or(|term| term.matches(&job.metadata))
            && self.payload.as_ref().is_none_or(|term| term.matches(&job.payload))
    }

    /// Whether it asks for the content of a job. A store leaves that to [`search`](super::search).
    pub fn needs_content(&self) -> bool {
        self.metadata.is_some() || self.payload.is_some()
    }

    pub(super) fn without_content(&self) -> Self {
        Self { metadata: None, payload: None, ..self.clone() }
    }

    pub(super) fn most_examined(&self) -> usize {
        self.examining.unwrap_or(PAGE_EXAMINED)
    }

    /// When a page that begins now reads no further.
    pub(super) fn reads_until(&self) -> Option<Instant> {
        self.within.and_then(|time| Instant::now().checked_add(time))
    }

    /// A page that looks at no more jobs than this.
    pub(super) fn examining(self, jobs: usize) -> Self {
        Self { examining: Some(jobs.min(PAGE_EXAMINED)), ..self }
    }
}

/// The facts of a job that a filter compares.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "as in `Job`")]
pub struct Listed<'a> {
    pub id: JobId,
    pub status: Status,
    pub kind: &'a str,
    pub partition_key: Option<&'a str>,
    pub worker: Option<&'a str>,
    pub created_at: Timestamp,
    pub finished_at: Option<Timestamp>,
}

/// The errors of a job that a filter compares.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Copy, Debug, Default)]
pub struct JobErrors<'a> {
    /// The text of its last failure.
    pub last: Option<&'a str>,
    /// Why it is dead.
    pub reason: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_filter_remembers_the_first_thing_that_is_invalid() {
        let field = |filter: JobFilter| match filter.position().unwrap_err().kind() {
            ErrorKind::Invalid { field, .. } => *field,
            other => panic!("{other:?}"),
        };
        assert_eq!(field(JobFilter::default().limit(0)), "limit");
        assert_eq!(field(JobFilter::default().limit(1001).queue("")), "limit");
        assert_eq!(field(JobFilter::default().kind("").limit(0)), "kind");
        assert!(JobFilter::default().limit(1000).check().is_ok());
    }
}
