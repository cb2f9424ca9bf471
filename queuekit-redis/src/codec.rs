//! A job's records as bytes, and back.

mod notes;

use std::time::Duration;

use bytes::Bytes;
use queuekit_core::{
    ErrorText, EventId, IdempotencyKey, Job, JobId, Kind, Lease, LeaseToken, Metadata, NewJob,
    Nonce, PartitionKey, Priority, QueueName, State, Status, Timestamp, WorkerId, lifecycle,
};
use redis::Value;
use serde::{Deserialize, Serialize};

use crate::layout::bytes::{Parts, put};
use crate::layout::{DATA, STATE};

pub(crate) use notes::{checkpoints, progress};

/// The version of new records, which scripts check.
const VERSION: u8 = b'1';
/// The mark in the data of a delivery whose payload is with its event. Readers see it only if the
/// event is gone.
const OF_EVENT: u8 = b'2';

/// The kind with which a job is shown whose data cannot be read.
pub(crate) const UNREADABLE_KIND: &str = "unreadable";

/// The part of a job's data that only the client reads, between the keys and the payload: kind,
/// timeout in ms, hexadecimal, and JSON if there is more; with spaces between them.
#[derive(Default, Serialize, Deserialize)]
struct More {
    #[serde(rename = "m", default, skip_serializing_if = "Metadata::is_empty")]
    metadata: Metadata,
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    moved_from: Option<JobId>,
}

/// A job's data from its version on; the script puts its own fields before it.
pub(crate) fn static_data(job: &NewJob) -> Vec<u8> {
    data_with(job, job.payload())
}

/// The same for a delivery: its payload is with its event.
pub(crate) fn delivery_data(job: &NewJob) -> Vec<u8> {
    data_with(job, &[])
}

fn data_with(job: &NewJob, payload: &[u8]) -> Vec<u8> {
    let key = job.partition_key().map_or("", |key| key.as_str());
    let unique = job.idempotency_key().map_or("", |key| key.as_str());
    let mut bytes = Vec::with_capacity(96 + key.len() + unique.len() + payload.len());
    let mut head = [b'0'; DATA.head.end];
    head[DATA.version.start] = VERSION;
    put(&mut head, DATA.level, (31 - job.priority().level()).into());
    put(&mut head, DATA.flag, job.unique_until_done().into());
    put(&mut head, DATA.max_attempts, job.max_attempts() as usize);
    put(&mut head, DATA.key, key.len());
    put(&mut head, DATA.unique, unique.len());
    put(&mut head, DATA.payload, payload.len());
    bytes.extend_from_slice(&head[DATA.written]);
    bytes.extend_from_slice(key.as_bytes());
    bytes.extend_from_slice(unique.as_bytes());
    bytes.extend(format!("{} {:x}", job.kind(), millis(job.timeout())).into_bytes());
    if !job.metadata().is_empty() || job.moved_from().is_some() {
        let more = More { metadata: job.metadata().clone(), moved_from: job.moved_from() };
        bytes.push(b' ');
        // Serializing texts cannot fail; without them the job would be found corrupt.
        bytes.extend(serde_json::to_vec(&more).unwrap_or_default());
    }
    bytes.extend_from_slice(payload);
    bytes
}

/// A job's data, read.
pub(crate) struct Data {
    /// Whether it has this version, and its payload is there.
    is_whole: bool,
    scheduled_at: Timestamp,
    deadline_at: Option<Timestamp>,
    pub(crate) created_at: Timestamp,
    priority: Priority,
    until_done: bool,
    max_attempts: u32,
    partition_key: Option<PartitionKey>,
    idempotency_key: Option<IdempotencyKey>,
    pub(crate) kind: Kind,
    timeout: Duration,
    metadata: Metadata,
    moved_from: Option<JobId>,
    pub(crate) payload: Bytes,
}

impl Data {
    /// Reads a job's data; none if it is malformed.
    pub(crate) fn read(bytes: Bytes) -> Option<Self> {
        let parts = Parts(&bytes);
        let key_to = DATA.head.end + parts.length(DATA.key)?;
        let unique_to = key_to + parts.length(DATA.unique)?;
        let payload = bytes.len().checked_sub(parts.length(DATA.payload)?)?;
        let mut rest = parts.text(unique_to..payload)?.splitn(3, ' ');
        let (kind, timeout) = (rest.next()?, rest.next()?);
        let more = rest.next().map(serde_json::from_str::<More>).transpose().ok()?;
        let more = more.unwrap_or_default();
        let level = u8::try_from(parts.hex(DATA.level)?).ok()?;
        let (key, unique) = (DATA.head.end..key_to, key_to..unique_to);
        Some(Self {
            is_whole: bytes.get(DATA.version.start) == Some(&VERSION)
                && bytes.get(DATA.flag.start) != Some(&OF_EVENT),
            scheduled_at: parts.time(DATA.scheduled)?,
            deadline_at: parts.time(DATA.deadline).filter(|at| at.as_millis() != 0),
            created_at: parts.time(DATA.created)?,
            priority: Priority::new(31_u8.checked_sub(level)?).ok()?,
            until_done: parts.text(DATA.flag)? == "1",
            max_attempts: u32::try_from(parts.hex(DATA.max_attempts)?).ok()?,
            partition_key: parts.named(key).map(PartitionKey::new).transpose().ok()?,
            idempotency_key: parts.named(unique).map(IdempotencyKey::new).transpose().ok()?,
            kind: Kind::new(kind).ok()?,
            timeout: Duration::from_millis(u64::from_str_radix(timeout, 16).ok()?),
            metadata: more.metadata,
            moved_from: more.moved_from,
            payload: bytes.slice(payload..),
        })
    }
}

/// A job's state, read.
pub(crate) struct Stored {
    state: State,
    cancel_requested: bool,
    attempts: u32,
    releases: u32,
    lease_seq: u64,
    scheduled_at: Timestamp,
    deadline_at: Option<Timestamp>,
    started_at: Option<Timestamp>,
    finished_at: Timestamp,
    worker: Option<WorkerId>,
    partition_key: Option<PartitionKey>,
    reason: String,
}

impl Stored {
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let parts = Parts(bytes);
        let some = |at: &Timestamp| at.as_millis() != 0;
        let key_to = STATE.head.end + parts.length(STATE.key)?;
        let mut tail = bytes.get(key_to..)?.splitn(2, |byte| *byte == 0);
        let mut part = || tail.next().map(String::from_utf8_lossy);
        let (worker, reason) = (part()?, part()?);
        let key = parts.named(STATE.head.end..key_to);
        Some(Self {
            state: state_of(*bytes.get(STATE.state.start)?)?,
            cancel_requested: bytes.get(STATE.cancel.start)? == &b'1',
            attempts: parts.hex(STATE.attempts)? as u32,
            releases: u32::try_from(parts.hex(STATE.releases)?).ok()?,
            lease_seq: parts.hex(STATE.lease_seq)?,
            scheduled_at: parts.time(STATE.scheduled)?,
            deadline_at: parts.time(STATE.deadline).filter(some),
            started_at: parts.time(STATE.started).filter(some),
            finished_at: parts.time(STATE.finished)?,
            worker: WorkerId::new(worker).ok(),
            partition_key: key.and_then(|key| PartitionKey::new(key).ok()),
            reason: reason.into_owned(),
        })
    }
}

/// The state of this letter of a state record.
pub(crate) fn state_of(letter: u8) -> Option<State> {
    Some(match letter {
        b'p' => State::Pending,
        b'r' => State::Running,
        b'c' => State::Completed,
        b'x' => State::Dead,
        b'n' => State::Cancelled,
        _ => return None,
    })
}

/// The token of a lease in the form that scripts compare.
pub(crate) fn token(lease: &LeaseToken) -> Vec<u8> {
    let mut token = format!("{:01$x}", lease.lease_seq, STATE.lease_seq.len()).into_bytes();
    token.extend_from_slice(lease.nonce.as_bytes());
    token
}

/// Reads a lease that a script granted; if the job cannot be read, the token alone.
pub(crate) fn lease(
    queue: &QueueName,
    id: JobId,
    nonce: Nonce,
    now: Timestamp,
    state: &[u8],
    data: Bytes,
) -> Result<Lease, LeaseToken> {
    let stored = Stored::read(state);
    let lease_seq = stored.as_ref().map_or(0, |stored| stored.lease_seq);
    let token = LeaseToken { queue: queue.clone(), id, lease_seq, nonce };
    let data = Data::read(data).filter(|data| data.is_whole);
    let (Some(stored), Some(data)) = (stored, data) else {
        return Err(token);
    };
    let mut lease = Lease::new(token, data.kind, data.payload);
    lease.attempt = stored.attempts;
    lease.max_attempts = data.max_attempts;
    lease.releases = stored.releases;
    lease.priority = data.priority;
    lease.timeout = data.timeout;
    lease.deadline_in = stored.deadline_at.map(|deadline| deadline.since(now));
    lease.created_at = data.created_at;
    lease.scheduled_at = stored.scheduled_at;
    lease.partition_key = data.partition_key;
    lease.metadata = data.metadata;
    Ok(lease)
}

/// A job as lua/lib/view.lua answers it.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) id: JobId,
    data: Bytes,
    state: Vec<u8>,
    expires_in_ms: Option<i64>,
    blocked: bool,
    errors: Vec<u8>,
    result: Vec<u8>,
    progress: Vec<u8>,
    logs: Vec<u8>,
    released: Vec<u8>,
}

impl View {
    /// How many values the answer has per job.
    pub(crate) const VALUES: usize = 10;

    pub(crate) fn read(values: &mut impl Iterator<Item = Value>) -> Option<Self> {
        let mut next = || values.next().and_then(bytes_of);
        Some(Self {
            id: job_id(&next()?)?,
            data: next()?.into(),
            state: next()?,
            expires_in_ms: std::str::from_utf8(&next()?).ok()?.parse().ok(),
            blocked: next()? == b"1",
            errors: next()?,
            result: next()?,
            progress: next()?,
            logs: next()?,
            released: next()?,
        })
    }

    /// How long ago its lease ran out.
    pub(crate) fn overdue(&self) -> Duration {
        let ms = self.expires_in_ms.map_or(0, |ms| -ms);
        Duration::from_millis(ms.try_into().unwrap_or(0))
    }

    /// The job as it is shown. Leaves out fields that cannot be read (contract R5.8).
    pub(crate) fn job(self, queue: QueueName, now: Timestamp) -> Option<Job> {
        let data = Data::read(self.data);
        let stored = Stored::read(&self.state);
        let unreadable = || Kind::new(UNREADABLE_KIND).ok();
        let kind = data.as_ref().map(|data| data.kind.clone()).or_else(unreadable)?;
        let created_at = data.as_ref().map_or(Timestamp::default(), |data| data.created_at);
        let mut job = Job::pending(self.id, queue, kind, created_at);
        if let Some(data) = data {
            job.payload = if data.is_whole { data.payload } else { Bytes::new() };
            job.priority = data.priority;
            job.max_attempts = data.max_attempts;
            job.scheduled_at = data.scheduled_at;
            job.partition_key = data.partition_key;
            job.idempotency_key = data.idempotency_key;
            job.unique_until_done = data.until_done;
            job.timeout = data.timeout;
            job.deadline_in = data.deadline_at.map(|deadline| deadline.since(now));
            job.metadata = data.metadata;
            job.moved_from = data.moved_from;
        }
        if let Some(stored) = stored {
            job.state = stored.state;
            job.attempts = stored.attempts;
            job.releases = stored.releases;
            job.lease_seq = stored.lease_seq;
            job.scheduled_at = stored.scheduled_at;
            job.started_at = stored.started_at;
            job.finished_at = stored.state.is_terminal().then_some(stored.finished_at);
            job.worker = stored.worker;
            job.cancel_requested = stored.cancel_requested;
            job.deadline_in = stored.deadline_at.map(|deadline| deadline.since(now));
            job.partition_key = job.partition_key.or(stored.partition_key);
            let reason = Some(stored.reason).filter(|reason| !reason.is_empty());
            job.reason = reason.map(ErrorText::from);
        }
        let running = self.expires_in_ms.filter(|_| job.state == State::Running);
        job.lease_expires_in = running.map(|ms| Duration::from_millis(ms.try_into().unwrap_or(0)));
        job.status = match job.state {
            State::Pending => {
                lifecycle::waiting_status(self.blocked, job.scheduled_at, now, job.attempts)
            }
            State::Running if self.expires_in_ms.is_some_and(|ms| ms <= 0) => Status::Expired,
            State::Running => Status::Running,
            State::Completed => Status::Completed,
            State::Dead => Status::Dead,
            State::Cancelled => Status::Cancelled,
        };
        job.errors = notes::failures(&self.errors);
        job.released = notes::releases(&self.released);
        // An empty result is a result too.
        job.result = self.result.strip_prefix(b"+").map(Bytes::copy_from_slice);
        job.progress = notes::progress_of(&self.progress);
        job.logs = notes::log_lines(&self.logs);
        Some(job)
    }
}

pub(crate) fn job_id(bytes: &[u8]) -> Option<JobId> {
    Some(JobId::from_bytes(bytes.try_into().ok()?))
}

pub(crate) fn event_id(bytes: &[u8]) -> Option<EventId> {
    Some(EventId::from_bytes(bytes.try_into().ok()?))
}

pub(crate) fn bytes_of(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.into_bytes()),
        Value::Int(number) => Some(number.to_string().into_bytes()),
        _ => None,
    }
}

pub(crate) fn number_of(value: Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(number),
        value => std::str::from_utf8(&bytes_of(value)?).ok()?.parse().ok(),
    }
}

pub(crate) fn is_word(value: Option<&Value>, word: &[u8]) -> bool {
    matches!(value, Some(Value::BulkString(bytes)) if bytes == word)
}

pub(crate) fn array_of(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(values) => Some(values),
        _ => None,
    }
}

/// Whole milliseconds, rounded up, so that nothing happens early.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_micros().div_ceil(1000)).unwrap_or(u64::MAX)
}
