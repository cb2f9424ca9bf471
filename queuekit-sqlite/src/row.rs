//! A job's row: the columns that can change, and those that decide how.

use std::time::Duration;

use bytes::Bytes;
use queuekit_core::{JobId, Kind, LeaseToken, Nonce, Priority, State, Timestamp};
use rusqlite::types::ValueRef;
use rusqlite::{Row, params};

use crate::column_names::columns;
use crate::statements::JOB_UPDATE;

/// The lane of the jobs without a partition key in a fair queue.
pub(crate) const PLAIN: &str = "";

columns! {
    pub(crate) struct RecordColumns {
        key, id, queue, kind, state, rank, scheduled_at, seq, lane, holds, attempts, max_attempts,
        releases, claim, lease_seq, nonce, lease_expires_at, worker, started_at,
        cancel_requested, finished_at, end_seq, deadline_ms, deadline_at, idempotency_key,
        unique_until_done, size, reason, created_at, timeout_ms,
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) key: i64,
    pub(crate) id: JobId,
    pub(crate) queue: i64,
    pub(crate) kind: String,
    pub(crate) state: State,
    pub(crate) rank: i64,
    pub(crate) scheduled_at: Timestamp,
    pub(crate) seq: i64,
    /// The partition key.
    pub(crate) lane: Option<String>,
    pub(crate) holds: bool,
    pub(crate) attempts: u32,
    pub(crate) max_attempts: u32,
    pub(crate) releases: u32,
    /// Under which it runs.
    pub(crate) claim: Option<i64>,
    pub(crate) lease_seq: u64,
    pub(crate) nonce: Option<Nonce>,
    pub(crate) lease_expires_at: Option<Timestamp>,
    pub(crate) worker: Option<String>,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) cancel_requested: bool,
    pub(crate) finished_at: Option<Timestamp>,
    pub(crate) end_seq: Option<i64>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) deadline_at: Option<Timestamp>,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) unique_until_done: bool,
    pub(crate) size: i64,
    pub(crate) reason: Option<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) timeout: Option<Duration>,
    /// To be stored when it completes.
    pub(crate) result: Option<Bytes>,
    /// Whether something in it is not what this crate writes.
    pub(crate) corrupt: bool,
}

impl Record {
    /// Reads the columns of a job. A column that cannot be read makes the record corrupt, never an
    /// error: one broken row must not stop the others (contract R5.8).
    pub(crate) fn read(row: &Row<'_>, at: &RecordColumns) -> rusqlite::Result<Self> {
        let mut read = Reader::of(row);
        let id = read.id(at.id);
        let mut record = Self {
            key: row.get(at.key)?,
            id: id.unwrap_or(JobId::from_bytes([0; 16])),
            queue: row.get(at.queue)?,
            kind: read.text(at.kind).unwrap_or_default(),
            state: read.state(at.state),
            rank: row.get(at.rank)?,
            scheduled_at: Timestamp::from_millis(row.get(at.scheduled_at)?),
            seq: row.get(at.seq)?,
            lane: read.text(at.lane),
            holds: row.get(at.holds)?,
            attempts: read.small(at.attempts),
            max_attempts: read.small(at.max_attempts),
            releases: read.small(at.releases),
            claim: row.get(at.claim)?,
            lease_seq: unsigned(row.get(at.lease_seq)?),
            nonce: read.bytes16(at.nonce).map(Nonce::from_bytes),
            lease_expires_at: read.time(at.lease_expires_at),
            worker: read.text(at.worker),
            started_at: read.time(at.started_at),
            cancel_requested: row.get(at.cancel_requested)?,
            finished_at: read.time(at.finished_at),
            end_seq: row.get(at.end_seq)?,
            deadline: row
                .get::<_, Option<i64>>(at.deadline_ms)?
                .map(|ms| Duration::from_millis(unsigned(ms))),
            deadline_at: read.time(at.deadline_at),
            idempotency_key: read.text(at.idempotency_key),
            unique_until_done: row.get(at.unique_until_done)?,
            size: row.get(at.size)?,
            reason: read.text(at.reason),
            created_at: Timestamp::from_millis(row.get(at.created_at)?),
            timeout: u64::try_from(row.get::<_, i64>(at.timeout_ms)?)
                .ok()
                .map(Duration::from_millis),
            result: None,
            corrupt: false,
        };
        let readable = id.is_some()
            && record.timeout.is_some()
            && Kind::new(&record.kind).is_ok()
            && (0..Priority::LEVELS as i64).contains(&record.rank);
        record.corrupt = read.corrupt || !readable;
        Ok(record)
    }

    /// Writes the changes of a transition.
    pub(crate) fn write(&self, conn: &rusqlite::Connection) -> rusqlite::Result<()> {
        let time = |at: Option<Timestamp>| at.map(Timestamp::as_millis);
        conn.prepare_cached(JOB_UPDATE)?
            .execute(params![
                self.key,
                self.state as i64,
                self.scheduled_at.as_millis(),
                self.seq,
                self.holds,
                self.attempts,
                self.releases,
                self.lease_seq as i64,
                self.nonce.as_ref().map(|nonce| &nonce.as_bytes()[..]),
                self.worker,
                time(self.started_at),
                self.cancel_requested,
                time(self.finished_at),
                self.end_seq,
                time(self.deadline_at),
                self.reason,
            ])
            .map(drop)
    }

    /// Whether exactly this lease holds (contract R3.2), expired or not.
    pub(crate) fn is_held_by(&self, lease: &LeaseToken) -> bool {
        self.state == State::Running && self.was_last_held_by(lease)
    }

    /// Whether this lease was the last one granted.
    pub(crate) fn was_last_held_by(&self, lease: &LeaseToken) -> bool {
        self.lease_seq == lease.lease_seq && self.nonce == Some(lease.nonce)
    }

    pub(crate) fn is_past_deadline(&self, now: Timestamp) -> bool {
        self.deadline_at.is_some_and(|deadline| deadline <= now)
    }

    pub(crate) fn partition_key(&self) -> Option<&str> {
        self.lane.as_deref()
    }
}

/// Reads columns and notes those that fail; see [`Record::read`].
pub(crate) struct Reader<'r, 's> {
    row: &'r Row<'s>,
    pub(crate) corrupt: bool,
}

impl<'r, 's> Reader<'r, 's> {
    pub(crate) fn of(row: &'r Row<'s>) -> Self {
        Self { row, corrupt: false }
    }

    pub(crate) fn text(&mut self, at: usize) -> Option<String> {
        match self.row.get_ref(at) {
            Ok(ValueRef::Null) => None,
            Ok(value) => match value.as_str() {
                Ok(text) => Some(text.to_owned()),
                Err(_) => self.broken(),
            },
            Err(_) => self.broken(),
        }
    }

    pub(crate) fn bytes(&mut self, at: usize) -> Option<Bytes> {
        match self.row.get_ref(at).map(|value| value.as_blob_or_null()) {
            Ok(Ok(bytes)) => bytes.map(Bytes::copy_from_slice),
            _ => self.broken(),
        }
    }

    pub(crate) fn id(&mut self, at: usize) -> Option<JobId> {
        self.bytes16(at).map(JobId::from_bytes)
    }

    pub(crate) fn bytes16(&mut self, at: usize) -> Option<[u8; 16]> {
        let bytes = match self.row.get_ref(at) {
            Ok(ValueRef::Null) => return None,
            Ok(ValueRef::Blob(bytes)) => bytes.try_into().ok(),
            _ => None,
        };
        if bytes.is_none() { self.broken() } else { bytes }
    }

    pub(crate) fn time(&mut self, at: usize) -> Option<Timestamp> {
        match self.row.get::<_, Option<i64>>(at) {
            Ok(millis) => millis.map(Timestamp::from_millis),
            Err(_) => self.broken(),
        }
    }

    fn small(&mut self, at: usize) -> u32 {
        self.row.get(at).unwrap_or_else(|_| self.broken().unwrap_or_default())
    }

    fn state(&mut self, at: usize) -> State {
        let code = self.row.get::<_, usize>(at).ok();
        let state = code.and_then(|code| State::ALL.get(code).copied());
        state.unwrap_or_else(|| self.broken().unwrap_or(State::Dead))
    }

    fn broken<T>(&mut self) -> Option<T> {
        self.corrupt = true;
        None
    }
}

/// A stored number that is never negative.
pub(crate) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// Whole milliseconds, rounded up so that nothing runs early.
pub(crate) fn millis(duration: Duration) -> i64 {
    (Timestamp::default() + duration).as_millis()
}
