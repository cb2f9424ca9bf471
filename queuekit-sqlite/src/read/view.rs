//! A job as it is shown.

use queuekit_core::{
    Bytes, ErrorText, Failure, IdempotencyKey, Job, JobId, Kind, LogLine, PartitionKey, Priority,
    Progress, Release, Result, State, Status, Timestamp, Undecodable, WorkerId,
};
use rusqlite::Row;

use super::status::Frontiers;
use crate::column_names::columns;
use crate::row::{Reader, Record, unsigned};
use crate::statements::{FAILURES, LOGS, VIEW};
use crate::step::Step;

columns! {
    struct RestColumns { payload, metadata, result, moved_from, progress, progress_message }
    struct FailureColumns { lease_seq, attempt, at, worker, error, started_at, cause }
    struct LineColumns { at, line }
}

impl Step<'_> {
    pub(crate) fn get_job(&mut self, id: JobId) -> Result<Option<Job>> {
        let Some(record) = self.job(id)? else {
            return Ok(None);
        };
        let status = self.status(&record, &mut Frontiers::default())?;
        self.view(&record, status).map(Some)
    }

    pub(crate) fn job_states(&mut self, ids: &[JobId]) -> Result<Vec<Option<State>>> {
        ids.iter().map(|id| Ok(self.job(*id)?.map(|record| record.state))).collect()
    }

    /// Shows a job. Leaves out fields that cannot be read: a list never fails on one record
    /// (contract R5.8).
    pub(super) fn view(&mut self, record: &Record, status: Status) -> Result<Job> {
        let queue = self.queue_of(record)?;
        let name = self.queue_at(queue).name.clone();
        let kind = match Kind::new(&record.kind) {
            Ok(kind) => kind,
            Err(_) => Kind::new("unreadable")?,
        };
        let mut job = Job::pending(record.id, name, kind, record.created_at);
        self.row(VIEW, [record.key], |row, at| {
            show(&mut job, row, at);
            Ok(())
        })?;
        if record.corrupt {
            job.payload = Bytes::new();
        }
        job.state = record.state;
        job.status = status;
        if let Some(Ok(priority)) = u8::try_from(31 - record.rank).ok().map(Priority::new) {
            job.priority = priority;
        }
        job.timeout = record.timeout.unwrap_or_default();
        job.attempts = record.attempts;
        job.max_attempts = record.max_attempts;
        job.releases = record.releases;
        job.lease_seq = record.lease_seq;
        job.scheduled_at = record.scheduled_at;
        job.started_at = record.started_at;
        job.finished_at = record.finished_at;
        let running = record.lease_expires_at.filter(|_| record.state == State::Running);
        job.lease_expires_in = running.map(|at| at.since(self.now));
        job.worker = record.worker.as_deref().and_then(|id| WorkerId::new(id).ok());
        job.partition_key = record.partition_key().and_then(|key| PartitionKey::new(key).ok());
        let key = record.idempotency_key.as_deref();
        job.idempotency_key = key.and_then(|key| IdempotencyKey::new(key).ok());
        job.unique_until_done = record.unique_until_done;
        job.deadline_in = record.deadline_at.map(|deadline| deadline.since(self.now));
        job.cancel_requested = record.cancel_requested;
        job.reason = record.reason.as_deref().map(ErrorText::from);
        if record.lease_seq > 0 {
            for end in self.rows(FAILURES, [record.key], run_end)? {
                match end {
                    RunEnd::Failed(failure) => job.errors.push(failure),
                    RunEnd::Released(release) => job.released.push(release),
                }
            }
            job.logs = self.rows(LOGS, [record.key], log_line)?;
        }
        Ok(job)
    }
}

fn show(job: &mut Job, row: &Row<'_>, at: &RestColumns) {
    let mut read = Reader::of(row);
    job.payload = read.bytes(at.payload).unwrap_or_default();
    let metadata = read.text(at.metadata).and_then(|text| serde_json::from_str(&text).ok());
    job.metadata = metadata.unwrap_or_default();
    job.result = read.bytes(at.result);
    job.moved_from = read.id(at.moved_from);
    let fraction: Option<f64> = row.get(at.progress).unwrap_or_default();
    let message = read.text(at.progress_message).unwrap_or_default();
    job.progress = fraction.map(|fraction| Progress::new(fraction as f32, &message));
}

/// How a run ended that did not complete its job.
enum RunEnd {
    Failed(Failure),
    Released(Release),
}

fn run_end(row: &Row<'_>, at: &FailureColumns) -> rusqlite::Result<RunEnd> {
    let mut read = Reader::of(row);
    let lease_seq = unsigned(row.get(at.lease_seq)?);
    let started_at = read.time(at.started_at);
    let worker = read.text(at.worker).and_then(|id| WorkerId::new(id).ok());
    let cause = read.text(at.cause);
    let attempt = row.get(at.attempt)?;
    let text = read.text(at.error).unwrap_or_default();
    let at = Timestamp::from_millis(row.get(at.at)?);
    Ok(match cause {
        Some(cause) => {
            let (cause, undecodable) = (cause.parse().ok(), Undecodable::from_stored(&text));
            let undecodable = undecodable.map(Box::new);
            RunEnd::Released(Release { lease_seq, at, started_at, worker, cause, undecodable })
        }
        None => {
            let error = ErrorText::from(text);
            RunEnd::Failed(Failure { attempt, lease_seq, at, started_at, worker, error })
        }
    })
}

fn log_line(row: &Row<'_>, at: &LineColumns) -> rusqlite::Result<LogLine> {
    let text = Reader::of(row).text(at.line).unwrap_or_default();
    Ok(LogLine { at: Timestamp::from_millis(row.get(at.at)?), text })
}
