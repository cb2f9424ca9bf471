//! A job's row, without its large columns.

use queuekit_core::{
    ErrorText, JobId, Kind, LeaseToken, Nonce, Priority, State, Timestamp, WorkerId,
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
    /// As stored: parsed only where it is shown or added to.
    pub(crate) errors: Option<String>,
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
        errors,
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
            errors: row.try_get(at.errors)?,
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

    pub(crate) fn failures(&self) -> Vec<JobFailure> {
        let stored = self.errors.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let stored: Vec<StoredFailure> = stored.unwrap_or_default();
        stored.into_iter().map(StoredFailure::into_failure).collect()
    }

    pub(crate) fn set_failures(&mut self, failures: Vec<JobFailure>) {
        let stored: Vec<_> = failures.into_iter().map(StoredFailure::of).collect();
        // Numbers and texts only, so serialization cannot fail.
        self.errors = serde_json::to_string(&stored).ok();
    }
}

/// A failure as stored in the column `errors`.
#[derive(Debug, Serialize, Deserialize)]
struct StoredFailure {
    attempt: u32,
    lease_seq: u64,
    at: Timestamp,
    worker: Option<String>,
    error: ErrorText,
}

impl StoredFailure {
    fn of(failure: JobFailure) -> Self {
        Self {
            attempt: failure.attempt,
            lease_seq: failure.lease_seq,
            at: failure.at,
            worker: failure.worker.map(|worker| worker.as_str().to_owned()),
            error: failure.error,
        }
    }

    fn into_failure(self) -> JobFailure {
        JobFailure {
            attempt: self.attempt,
            lease_seq: self.lease_seq,
            at: self.at,
            worker: self.worker.and_then(|worker| WorkerId::new(worker).ok()),
            error: self.error,
        }
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
