//! A job as it is shown.

use std::collections::HashMap;

use queuekit_core::{
    Bytes, ErrorText, IdempotencyKey, Job, JobId, Kind, LogLine, PartitionKey, Priority, Progress,
    QueueName, State, Status, Timestamp, WorkerId,
};
use serde::Deserialize;
use tokio_postgres::Row;
use uuid::Uuid;

use super::status::Frontiers;
use crate::column_names::columns;
use crate::error::{Failure, Outcome};
use crate::params::params;
use crate::row::{Record, RunEnds, job_id, job_uuid, unsigned};
use crate::session::Session;
use crate::statements::Sql;
use crate::step::Change;

pub(crate) async fn job(session: &Session<'_>, id: JobId) -> Outcome<Option<Job>> {
    session.begin_snapshot().await?;
    let change = Change::read(session, vec![job_uuid(id)]).await?;
    let Some(record) = change.record(id) else {
        return Ok(None);
    };
    let mut frontiers = Frontiers::default();
    frontiers.learn(session, std::iter::once(record)).await?;
    let status = frontiers.status(record, change.now);
    let name = change.queue_of(record)?.name.clone();
    let jobs = views(session, change.now, vec![(record, status, name)]).await?;
    Ok(jobs.into_iter().next())
}

pub(crate) async fn job_states(
    session: &Session<'_>,
    ids: &[JobId],
) -> Outcome<Vec<Option<State>>> {
    let change = Change::read(session, ids.iter().copied().map(job_uuid).collect()).await?;
    let state = |id: &JobId| change.record(*id).map(|record| record.state);
    Ok(ids.iter().map(state).collect())
}

/// What the record leaves out, by job.
struct Rest {
    payload: Vec<u8>,
    metadata: Option<String>,
    result: Option<Vec<u8>>,
    moved_from: Option<Uuid>,
    fraction: Option<f32>,
    message: Option<String>,
    lines: Option<String>,
    errors: Option<String>,
}

columns! {
    struct RestColumns {
        id, payload, metadata, result, moved_from, fraction, message, lines, errors, is_lacking,
    }
}

#[derive(Deserialize)]
struct StoredLine {
    at: Timestamp,
    text: String,
}

/// How many bytes of an answer these jobs take (contract R8.9).
pub(super) async fn bytes_of(
    session: &Session<'_>,
    ids: impl Iterator<Item = JobId>,
) -> Outcome<HashMap<JobId, usize>> {
    let ids: Vec<Uuid> = ids.map(job_uuid).collect();
    let mut bytes = HashMap::with_capacity(ids.len());
    for row in session.query(Sql::ViewBytes, params![ids]).await? {
        let of_job = usize::try_from(row.try_get::<_, i32>("bytes")?).unwrap_or_default();
        bytes.insert(job_id(row.try_get("id")?), of_job);
    }
    Ok(bytes)
}

/// Shows jobs. Leaves out fields that cannot be read: a list never fails on one record (contract
/// R5.8).
pub(super) async fn views(
    session: &Session<'_>,
    now: Timestamp,
    records: Vec<(&Record, Status, QueueName)>,
) -> Outcome<Vec<Job>> {
    let ids: Vec<Uuid> = records.iter().map(|(record, ..)| job_uuid(record.id)).collect();
    let mut rests: HashMap<JobId, Rest> = HashMap::new();
    let rows = session.query(Sql::Views, params![ids]).await?;
    let at = RestColumns::of(&rows)?;
    for row in &rows {
        if row.try_get(at.is_lacking)? {
            // The delivery has a copy by now, which this transaction does not see.
            return Err(Failure::transient("events of deliveries are being removed"));
        }
        rests.entry(job_id(row.try_get(at.id)?)).or_insert(Rest::read(row, &at)?);
    }
    let mut jobs = Vec::with_capacity(records.len());
    for (record, status, name) in records {
        jobs.extend(view(record, status, name, now, rests.remove(&record.id)));
    }
    Ok(jobs)
}

impl Rest {
    fn read(row: &Row, at: &RestColumns) -> Result<Self, tokio_postgres::Error> {
        Ok(Self {
            payload: row.try_get(at.payload)?,
            metadata: row.try_get(at.metadata)?,
            result: row.try_get(at.result)?,
            moved_from: row.try_get(at.moved_from)?,
            fraction: row.try_get(at.fraction)?,
            message: row.try_get(at.message)?,
            lines: row.try_get(at.lines)?,
            errors: row.try_get(at.errors)?,
        })
    }
}

fn view(
    record: &Record,
    status: Status,
    queue: QueueName,
    now: Timestamp,
    rest: Option<Rest>,
) -> Option<Job> {
    let kind = Kind::new(&record.kind).or_else(|_| Kind::new("unreadable")).ok()?;
    let mut job = Job::pending(record.id, queue, kind, record.created_at);
    job.state = record.state;
    job.status = status;
    if let Some(Ok(priority)) = u8::try_from(31 - record.rank).ok().map(Priority::new) {
        job.priority = priority;
    }
    job.timeout = std::time::Duration::from_millis(unsigned(record.timeout_ms));
    job.attempts = record.attempts;
    job.max_attempts = record.max_attempts;
    job.releases = record.releases;
    job.lease_seq = unsigned(record.lease_seq);
    job.scheduled_at = record.scheduled_at;
    job.started_at = record.started_at;
    job.finished_at = record.finished_at;
    let running = record.lease_expires_at.filter(|_| record.state == State::Running);
    job.lease_expires_in = running.map(|at| at.since(now));
    job.worker = record.worker.as_deref().and_then(|id| WorkerId::new(id).ok());
    job.partition_key = record.partition_key().and_then(|key| PartitionKey::new(key).ok());
    let key = record.idempotency_key.as_deref();
    job.idempotency_key = key.and_then(|key| IdempotencyKey::new(key).ok());
    job.unique_until_done = record.unique_until_done;
    job.deadline_in = record.deadline_at.map(|deadline| deadline.since(now));
    job.cancel_requested = record.cancel_requested;
    job.reason = record.reason.as_deref().map(ErrorText::from);
    if let Some(rest) = rest {
        job.payload = if record.is_corrupt() { Bytes::new() } else { rest.payload.into() };
        let metadata = rest.metadata.and_then(|text| serde_json::from_str(&text).ok());
        job.metadata = metadata.unwrap_or_default();
        let ends = || RunEnds::read(rest.errors.as_deref());
        job.errors = ends().failures();
        job.released = ends().releases();
        job.result = rest.result.map(Bytes::from);
        job.moved_from = rest.moved_from.map(job_id);
        let message = rest.message.unwrap_or_default();
        job.progress = rest.fraction.map(|fraction| Progress::new(fraction, &message));
        let lines = rest.lines.and_then(|text| serde_json::from_str(&text).ok());
        let lines: Vec<StoredLine> = lines.unwrap_or_default();
        job.logs = lines.into_iter().map(|line| LogLine { at: line.at, text: line.text }).collect();
    }
    Some(job)
}
