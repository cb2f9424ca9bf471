//! A job's row, without its large columns.

use queuekit_core::limits::{FAILURES_KEPT, RELEASES_KEPT};
use queuekit_core::{
    ErrorText, JobId, Kind, LeaseToken, Nack, Nonce, Priority, Release, ReleaseCause, State,
    Timestamp, Undecodable, WorkerId,
};
use serde::{Deserialize, Serialize};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::column_names::columns;
use crate::error::Outcome;
use queuekit_core::Failure as JobFailure;

/// A lane that is no partition key: programs of schema version 5 wrote it for jobs without one.
pub(crate) const PLAIN: &str = "";

#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) id: JobId,
    pub(crate) queue: i32,
    pub(crate) state: State,
    pub(crate) seq: i64,
    pub(crate) rank: i16,
    pub(crate) scheduled_at: Timestamp,
    pub(crate) created_at: Timestamp,
    pub(crate) timeout_ms: i64,
    pub(crate) deadline_at: Option<Timestamp>,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) finished_at: Option<Timestamp>,
    pub(crate) lease_seq: i64,
    pub(crate) nonce: Option<Uuid>,
    pub(crate) lease_expires_at: Option<Timestamp>,
    pub(crate) attempts: u32,
    pub(crate) max_attempts: u32,
    pub(crate) releases: u32,
    pub(crate) cancel_requested: bool,
    pub(crate) unique_until_done: bool,
    pub(crate) holds: bool,
    pub(crate) kind: String,
    pub(crate) lane: Option<String>,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) worker: Option<String>,
    pub(crate) reason: Option<String>,
    /// Ends of runs that are to be added to those that are stored. These are not read: a job may
    /// have 20 errors of 8 KiB.
    added: Vec<RunEnd>,
}

columns! {
    struct RecordColumns {
        id,
        queue,
        state,
        seq,
        rank,
        scheduled_at,
        created_at,
        timeout_ms,
        deadline_at,
        started_at,
        finished_at,
        lease_seq,
        nonce,
        lease_expires_at,
        attempts,
        max_attempts,
        releases,
        cancel_requested,
        unique_until_done,
        holds,
        kind,
        lane,
        idempotency_key,
        worker,
        reason,
    }
}

impl Record {
    /// Reads rows of `records.sql`.
    pub(crate) fn read_all(rows: &[Row]) -> Outcome<Vec<Self>> {
        let at = RecordColumns::of(rows)?;
        rows.iter().map(|row| Ok(Self::read(row, &at)?)).collect()
    }

    fn read(row: &Row, at: &RecordColumns) -> Result<Self, tokio_postgres::Error> {
        let time = |at| Ok(row.try_get::<_, Option<i64>>(at)?.map(Timestamp::from_millis));
        Ok(Self {
            id: job_id(row.try_get(at.id)?),
            queue: row.try_get(at.queue)?,
            state: state(row.try_get(at.state)?),
            seq: row.try_get(at.seq)?,
            rank: row.try_get(at.rank)?,
            scheduled_at: Timestamp::from_millis(row.try_get(at.scheduled_at)?),
            created_at: Timestamp::from_millis(row.try_get(at.created_at)?),
            timeout_ms: row.try_get(at.timeout_ms)?,
            deadline_at: time(at.deadline_at)?,
            started_at: time(at.started_at)?,
            finished_at: time(at.finished_at)?,
            lease_seq: row.try_get(at.lease_seq)?,
            nonce: row.try_get(at.nonce)?,
            lease_expires_at: time(at.lease_expires_at)?,
            attempts: small(row.try_get(at.attempts)?),
            max_attempts: small(row.try_get(at.max_attempts)?),
            releases: u32::try_from(row.try_get::<_, i32>(at.releases)?).unwrap_or(0),
            cancel_requested: row.try_get(at.cancel_requested)?,
            unique_until_done: row.try_get(at.unique_until_done)?,
            holds: row.try_get(at.holds)?,
            kind: row.try_get(at.kind)?,
            lane: row.try_get(at.lane)?,
            idempotency_key: row.try_get(at.idempotency_key)?,
            worker: row.try_get(at.worker)?,
            reason: row.try_get(at.reason)?,
            added: Vec::new(),
        })
    }

    /// Whether exactly this lease holds (contract R3.2), expired or not.
    pub(crate) fn is_held_by(&self, lease: &LeaseToken) -> bool {
        self.state == State::Running && self.was_last_held_by(lease)
    }

    /// Whether this lease was the last one granted.
    pub(crate) fn was_last_held_by(&self, lease: &LeaseToken) -> bool {
        i64::try_from(lease.lease_seq) == Ok(self.lease_seq)
            && self.nonce == Some(nonce_uuid(lease.nonce))
    }

    pub(crate) fn partition_key(&self) -> Option<&str> {
        self.lane.as_deref().filter(|lane| *lane != PLAIN)
    }

    /// Whether something in it is not what this crate writes.
    pub(crate) fn is_corrupt(&self) -> bool {
        Kind::new(&self.kind).is_err()
            || !(0..Priority::LEVELS as i16).contains(&self.rank)
            || self.timeout_ms < 0
    }

    /// Its last run failed now (contract R4.5).
    pub(crate) fn add_failure(&mut self, now: Timestamp, error: &ErrorText) {
        self.added.push(RunEnd::Failed {
            attempt: self.attempts,
            lease_seq: unsigned(self.lease_seq),
            at: now,
            started_at: self.started_at,
            worker: self.worker.clone(),
            error: error.clone(),
        });
    }

    /// Its last run was released now (contract R4.8).
    pub(crate) fn add_release(&mut self, now: Timestamp, nack: &Nack) {
        self.added.push(RunEnd::Released {
            lease_seq: unsigned(self.lease_seq),
            at: now,
            started_at: self.started_at,
            worker: self.worker.clone(),
            cause: nack.cause().map_or("", ReleaseCause::as_str).to_owned(),
            undecodable: nack.mark().cloned().map(Box::new),
        });
    }

    /// The ends of runs that are to be added, as JSON; none if there are none.
    pub(crate) fn added(&self) -> Option<String> {
        // Numbers and texts only, so serialization cannot fail.
        let json = || serde_json::to_string(&self.added).ok();
        if self.added.is_empty() { None } else { json() }
    }
}

/// The most failures and the most releases that are kept of a job (contract R4.5, R4.8).
pub(crate) const KEPT: (i32, i32) = (FAILURES_KEPT as i32, RELEASES_KEPT as i32);

/// The ends of runs of a job, as stored.
pub(crate) struct RunEnds(Vec<RunEnd>);

impl RunEnds {
    pub(crate) fn read(stored: Option<&str>) -> Self {
        let ends = stored.and_then(|text| serde_json::from_str(text).ok());
        Self(ends.unwrap_or_default())
    }

    pub(crate) fn failures(self) -> Vec<JobFailure> {
        self.0.into_iter().filter_map(RunEnd::into_failure).collect()
    }

    pub(crate) fn releases(self) -> Vec<Release> {
        self.0.into_iter().filter_map(RunEnd::into_release).collect()
    }
}

/// The end of a run that did not complete its job, as stored in the column `errors`: a release has
/// a `cause`, which is empty if the worker did not say why.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum RunEnd {
    Released {
        lease_seq: u64,
        at: Timestamp,
        #[serde(default)]
        started_at: Option<Timestamp>,
        worker: Option<String>,
        cause: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        undecodable: Option<Box<Undecodable>>,
    },
    Failed {
        attempt: u32,
        lease_seq: u64,
        at: Timestamp,
        #[serde(default)]
        started_at: Option<Timestamp>,
        worker: Option<String>,
        error: ErrorText,
    },
}

impl RunEnd {
    fn into_failure(self) -> Option<JobFailure> {
        let Self::Failed { attempt, lease_seq, at, started_at, worker, error } = self else {
            return None;
        };
        let worker = worker.and_then(|worker| WorkerId::new(worker).ok());
        Some(JobFailure { attempt, lease_seq, at, started_at, worker, error })
    }

    fn into_release(self) -> Option<Release> {
        let Self::Released { lease_seq, at, started_at, worker, cause, undecodable } = self else {
            return None;
        };
        let worker = worker.and_then(|worker| WorkerId::new(worker).ok());
        let cause = cause.parse().ok();
        Some(Release { lease_seq, at, started_at, worker, cause, undecodable })
    }
}

pub(crate) fn job_id(uuid: Uuid) -> JobId {
    JobId::from_bytes(uuid.into_bytes())
}

pub(crate) fn job_uuid(id: JobId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}

pub(crate) fn nonce_uuid(nonce: Nonce) -> Uuid {
    Uuid::from_bytes(*nonce.as_bytes())
}

/// A stored number that is never negative.
pub(crate) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

pub(crate) fn small(value: i16) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

/// Attempts are at most 1,000, ranks at most 31.
pub(crate) fn to_small(value: u32) -> i16 {
    i16::try_from(value).unwrap_or(i16::MAX)
}

/// Whole milliseconds, rounded up so that nothing runs early.
pub(crate) fn millis(duration: std::time::Duration) -> i64 {
    (Timestamp::default() + duration).as_millis()
}

fn state(code: i16) -> State {
    let state = usize::try_from(code).ok().and_then(|code| State::ALL.get(code).copied());
    state.unwrap_or(State::Dead)
}
