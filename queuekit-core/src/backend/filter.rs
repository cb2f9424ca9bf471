//! Listing jobs: what to show, and where to go on.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::job::{Status, StatusSet};
use crate::limits::PAGE_JOBS;
use crate::names::{Kind, PartitionKey, QueueName, WorkerId};

/// Which jobs to list (contract R8.2); the default lists all.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct JobFilter {
    /// Only of this queue.
    pub queue: Option<QueueName>,
    /// Only with one of these statuses.
    pub statuses: StatusSet,
    /// Only of this kind.
    pub kind: Option<Kind>,
    /// Only of this partition key.
    pub partition_key: Option<PartitionKey>,
    /// Only held by this worker, or last held by it.
    pub worker: Option<WorkerId>,
    /// Only dead or failed jobs whose reason or last error contains this text.
    pub error_contains: Option<String>,
    /// Only enqueued in this time.
    pub created: TimeRange,
    /// Only ended in this time.
    pub finished: TimeRange,
    /// Most jobs on a page.
    pub limit: PageSize,
    /// Where the last page ended.
    pub cursor: Option<Cursor>,
}

impl JobFilter {
    /// Only of this queue.
    pub fn queue(mut self, queue: QueueName) -> Self {
        self.queue = Some(queue);
        self
    }

    /// Only with this state, status or one of these statuses.
    pub fn status(mut self, statuses: impl Into<StatusSet>) -> Self {
        self.statuses = statuses.into();
        self
    }

    /// Only of this kind.
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// At most this many on a page.
    pub fn limit(mut self, limit: PageSize) -> Self {
        self.limit = limit;
        self
    }

    /// From where the last page ended.
    pub fn after(mut self, cursor: Option<Cursor>) -> Self {
        self.cursor = cursor;
        self
    }

    /// Whether a job is among those it wants, as far as this tells.
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

    /// Whether a job of this status and with these texts (its last error, its reason) has the
    /// error that it wants: only dead and failed jobs show one.
    pub fn admits_error(&self, status: Status, texts: [Option<&str>; 2]) -> bool {
        let Some(wanted) = &self.error_contains else {
            return true;
        };
        let shows = matches!(status, Status::Dead | Status::Failed);
        shows && texts.into_iter().flatten().any(|text| text.contains(wanted))
    }

    /// The cursor of a page of this filter that ended at this position.
    pub fn cursor_at(&self, position: &[u8]) -> Cursor {
        let mut bytes = self.fingerprint().to_vec();
        bytes.extend_from_slice(position);
        Cursor(bytes)
    }

    /// The position in this filter's cursor, if it has one.
    ///
    /// # Errors
    /// `Invalid` if the cursor is of another filter.
    pub fn position(&self) -> Result<Option<&[u8]>> {
        let Some(cursor) = &self.cursor else {
            return Ok(None);
        };
        match cursor.0.strip_prefix(&self.fingerprint()) {
            Some(position) => Ok(Some(position)),
            None => Err(Error::invalid(
                "cursor",
                "the one a page of this very filter answered",
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
            created,
            finished,
            limit: _,
            cursor: _,
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
        };
        // Texts and numbers: they can be written.
        serde_json::to_vec(&all).unwrap_or_default()
    }
}

/// A filter as its fingerprint takes it, in this order. What it does not ask for is left out, so
/// that a cursor outlives a version that can ask for more.
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
}

/// What a filter asks of a job.
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

/// From (inclusive) and to (exclusive) an instant of store time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    /// The first instant inside.
    pub from: Option<Timestamp>,
    /// The first instant after it.
    pub to: Option<Timestamp>,
}

impl TimeRange {
    /// Whether it bounds nothing.
    pub fn is_unbounded(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    /// Whether the instant is inside.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| at >= from) && self.to.is_none_or(|to| at < to)
    }
}

/// Jobs on a page: 1..=1000 (default 100).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSize(usize);

impl PageSize {
    /// The largest page.
    pub const MAX: Self = Self(PAGE_JOBS);

    /// A page of this many jobs.
    ///
    /// # Errors
    /// `Invalid` outside 1..=1000.
    pub fn new(jobs: usize) -> Result<Self> {
        if (1..=PAGE_JOBS).contains(&jobs) {
            return Ok(Self(jobs));
        }
        Err(Error::invalid("limit", format!("1..={PAGE_JOBS}"), jobs))
    }

    /// The number of jobs.
    pub fn get(self) -> usize {
        self.0
    }
}

impl Default for PageSize {
    fn default() -> Self {
        Self(100)
    }
}

/// Where a page ended; opaque, and bound to its filter. Never an offset.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Cursor(Vec<u8>);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cursor({self})")
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let byte = |pair: &[u8]| {
            let pair = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(pair, 16).ok()
        };
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
        bytes
            .filter(|_| text.len().is_multiple_of(2))
            .map(Self)
            .ok_or_else(|| Error::invalid("cursor", "the text a page answered", "something else"))
    }
}

/// One page of a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// May be short or empty though more pages follow.
    pub items: Vec<T>,
    /// Where the next page begins; none at the end.
    pub next: Option<Cursor>,
}

#[cfg(test)]
mod tests {
    use super::*;

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
            created: TimeRange { from: at(1), to: at(2) },
            finished: TimeRange { from: at(3), to: at(4) },
            limit: PageSize::MAX,
            cursor: Some(Cursor(vec![7])),
        };
        // Cursors that people hold are of this encoding: it changes with no version.
        let encoding = concat!(
            r#"{"queue":"q","statuses":["ready","dead"],"kind":"k","partition_key":"p","#,
            r#""worker":"w","error_contains":"\"e\"","created_from":1,"created_to":2,"#,
            r#""finished_from":3,"finished_to":4}"#
        );
        assert_eq!(String::from_utf8(filter.encoded()).unwrap(), encoding);
        assert_eq!(JobFilter::default().encoded(), b"{}");
        assert_eq!(JobFilter::default().cursor_at(b"x").to_string(), "44136fa355b3678a78");
    }
}
