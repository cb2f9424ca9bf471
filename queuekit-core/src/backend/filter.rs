//! Listing jobs: filters, pages and cursors.

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{Cursor, PageSize, TimeRange};
use crate::clock::Timestamp;
use crate::error::{Error, Result, parsed};
use crate::error_group::{GroupId, Signature};
use crate::job::{State, Status, StatusSet};
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
    /// Only jobs enqueued in this range.
    pub created: TimeRange,
    /// Only jobs that ended in this range.
    pub finished: TimeRange,
    /// The most jobs on a page.
    pub limit: PageSize,
    /// Where the last page ended.
    pub cursor: Option<Cursor>,
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

    /// At most this many on a page (default 100); 1..=1000.
    pub fn limit(self, jobs: usize) -> Self {
        self.set(PageSize::new(jobs), |filter, limit| filter.limit = limit)
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

    /// Whether the filter matches a job, as far as these facts show.
    pub fn admits(&self, job: &Listed<'_>) -> bool {
        let in_time = self.created.contains(job.created_at)
            && (self.finished.is_unbounded()
                || job.finished_at.is_some_and(|at| self.finished.contains(at)));
        let key = self.partition_key.as_ref().map(|key| key.as_str());
        let worker = self.worker.as_ref().map(|worker| worker.as_str());
        self.statuses.contains(job.status)
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

    /// The cursor of a page of this filter that ended at this position.
    pub fn cursor_at(&self, position: &[u8]) -> Cursor {
        let mut bytes = self.fingerprint().to_vec();
        bytes.extend_from_slice(position);
        Cursor(bytes)
    }

    /// The position in this filter's cursor, if it has one. A store asks this before it lists.
    ///
    /// # Errors
    /// Those of [`check`](Self::check); `Invalid` if the cursor is of another filter.
    pub fn position(&self) -> Result<Option<&[u8]>> {
        self.check()?;
        let Some(cursor) = &self.cursor else {
            return Ok(None);
        };
        match cursor.0.strip_prefix(&self.fingerprint()) {
            Some(position) => Ok(Some(position)),
            None => Err(Error::invalid(
                "cursor",
                "the cursor of a page with this filter",
                "one of another filter; start again without a cursor",
            )),
        }
    }

    fn fingerprint(&self) -> [u8; 8] {
        let digest = Sha256::digest(self.encoded());
        let mut fingerprint = [0; 8];
        fingerprint.copy_from_slice(&digest[..8]);
        fingerprint
    }

    /// All but limit and cursor: a page may have another size than the one before it.
    fn encoded(&self) -> Vec<u8> {
        // Each field by name: what is new has to be put into the encoding.
        let Self {
            queue,
            statuses,
            kind,
            partition_key,
            worker,
            error_contains,
            group,
            created,
            finished,
            limit: _,
            cursor: _,
            refused: _,
        } = self;
        let all = Encoded {
            queue: queue.as_ref(),
            statuses: (*statuses != StatusSet::ALL).then(|| statuses.iter().collect()),
            kind: kind.as_ref(),
            partition_key: partition_key.as_ref(),
            worker: worker.as_ref(),
            error_contains: error_contains.as_deref(),
            created_from: created.from,
            created_to: created.to,
            finished_from: finished.from,
            finished_to: finished.to,
            group: group.map(|group| group.to_string()),
        };
        // Texts and numbers: they can be written.
        serde_json::to_vec(&all).unwrap_or_default()
    }
}

/// A filter as its fingerprint reads it, in this order. Parts that it does not filter by are left
/// out, so that a cursor outlives a version with more parts.
#[derive(Serialize)]
struct Encoded<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a QueueName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statuses: Option<Vec<Status>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a Kind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_key: Option<&'a PartitionKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<&'a WorkerId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_contains: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_from: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_to: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_from: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_to: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
}

/// The facts of a job that a filter compares.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "as in `Job`")]
pub struct Listed<'a> {
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
    fn r8_2_a_cursor_is_bound_to_what_its_filter_asks_for() {
        let at = |ms| Some(Timestamp::from_millis(ms));
        let filter = JobFilter {
            queue: Some(QueueName::new("q").unwrap()),
            statuses: StatusSet::NONE.with(Status::Dead).with(Status::Ready),
            kind: Some(Kind::new("k").unwrap()),
            partition_key: Some(PartitionKey::new("p").unwrap()),
            worker: Some(WorkerId::new("w").unwrap()),
            error_contains: Some("\"e\"".to_owned()),
            group: Some("0123456789abcdef".parse().unwrap()),
            created: TimeRange { from: at(1), to: at(2) },
            finished: TimeRange { from: at(3), to: at(4) },
            limit: PageSize::MAX,
            cursor: Some(Cursor(vec![7])),
            refused: None,
        };
        let built = JobFilter::default()
            .queue("q")
            .status(StatusSet::NONE.with(Status::Dead).with(Status::Ready))
            .kind("k")
            .partition_key("p")
            .worker("w")
            .error_contains("\"e\"")
            .group("0123456789abcdef")
            .created(Timestamp::from_millis(1)..Timestamp::from_millis(2))
            .finished(Timestamp::from_millis(3)..Timestamp::from_millis(4))
            .limit(1000)
            .after(filter.cursor.clone());
        assert_eq!(format!("{built:?}"), format!("{filter:?}"));
        // Cursors that people hold are of this encoding: it changes with no version.
        let encoding = concat!(
            r#"{"queue":"q","statuses":["ready","dead"],"kind":"k","partition_key":"p","#,
            r#""worker":"w","error_contains":"\"e\"","created_from":1,"created_to":2,"#,
            r#""finished_from":3,"finished_to":4,"group":"0123456789abcdef"}"#
        );
        assert_eq!(String::from_utf8(filter.encoded()).unwrap(), encoding);
        assert_eq!(JobFilter::default().encoded(), b"{}");
        assert_eq!(JobFilter::default().cursor_at(b"x").to_string(), "44136fa355b3678a78");
    }

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
