//! A job in answers, written by the server and read by commands.

use std::borrow::Cow;

use queuekit::jobs::Start;
use queuekit::store::Lease;
use queuekit::{Job, JobId, Metadata, NewJob, Status, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{ShownBytes, Time, TokenBody, millis};

/// A job.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Job)]
pub(crate) struct JobBody<'a> {
    #[schema(value_type = String, format = Uuid)]
    pub(crate) id: JobId,
    #[serde(borrow)]
    pub(crate) queue: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) kind: Cow<'a, str>,
    /// `running`, `expired`, `ready`, `failed`, `scheduled`, `blocked`, `dead`, `cancelled` or
    /// `completed`.
    #[schema(value_type = String)]
    pub(crate) status: Status,
    pub(crate) priority: u8,
    pub(crate) attempts: u32,
    pub(crate) max_attempts: u32,
    /// How often the job was released.
    pub(crate) releases: u32,
    /// Increases with every lease.
    pub(crate) lease_seq: u64,
    #[schema(value_type = String, format = DateTime)]
    pub(crate) created_at: Time,
    #[schema(value_type = String, format = DateTime)]
    pub(crate) scheduled_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) started_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) finished_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lease_expires_in_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) worker: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) partition_key: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) idempotency_key: Option<Cow<'a, str>>,
    pub(crate) timeout_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deadline_in_ms: Option<u64>,
    /// The payload as it was enqueued, if it is JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) payload: Option<Cow<'a, RawValue>>,
    /// Instead of `payload`, if the bytes are not JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) payload_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) result: Option<Cow<'a, RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result_base64: Option<String>,
    /// Why the job is dead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<Cow<'a, str>>,
    /// The last 20 failures, oldest first.
    pub(crate) errors: Vec<FailureBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) progress: Option<ProgressBody<'a>>,
    /// The last 100 lines, oldest first.
    pub(crate) logs: Vec<LineBody<'a>>,
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub(crate) metadata: Cow<'a, Metadata>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub(crate) cancel_requested: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Uuid)]
    pub(crate) moved_from: Option<JobId>,
}

/// A failed attempt.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Failure)]
pub(crate) struct FailureBody<'a> {
    pub(crate) attempt: u32,
    pub(crate) lease_seq: u64,
    #[schema(value_type = String, format = DateTime)]
    pub(crate) at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) worker: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) error: Cow<'a, str>,
}

/// Progress of a run.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Progress)]
pub(crate) struct ProgressBody<'a> {
    /// 0 to 1.
    pub(crate) fraction: f32,
    #[serde(borrow)]
    pub(crate) message: Cow<'a, str>,
}

/// A log line of a run.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = LogLine)]
pub(crate) struct LineBody<'a> {
    #[schema(value_type = String, format = DateTime)]
    pub(crate) at: Time,
    #[serde(borrow)]
    pub(crate) text: Cow<'a, str>,
}

/// Why a job is not running.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Why)]
pub(crate) struct WhyBody {
    /// `paused`, `blocked`, `scheduled`, `waiting_for_retry`, `no_live_worker`, `ready`, `running`,
    /// `expired` or `ended`.
    pub(crate) reason: Cow<'static, str>,
    /// The reason in words.
    pub(crate) sentence: String,
}

impl<'a> JobBody<'a> {
    /// A stored job.
    pub(crate) fn of(job: &'a Job) -> Self {
        let payload = ShownBytes::of(&job.payload);
        let result = job.result.as_deref().map(ShownBytes::of);
        let (result, result_base64) =
            result.map_or((None, None), |result| (result.json, result.base64));
        Self {
            id: job.id,
            queue: job.queue.as_str().into(),
            kind: job.kind.as_str().into(),
            status: job.status,
            priority: job.priority.level(),
            attempts: job.attempts,
            max_attempts: job.max_attempts,
            releases: job.releases,
            lease_seq: job.lease_seq,
            created_at: Time(job.created_at),
            scheduled_at: Time(job.scheduled_at),
            started_at: job.started_at.map(Time),
            finished_at: job.finished_at.map(Time),
            lease_expires_in_ms: job.lease_expires_in.map(millis),
            worker: job.worker.as_ref().map(|worker| worker.as_str().into()),
            partition_key: job.partition_key.as_ref().map(|key| key.as_str().into()),
            idempotency_key: job.idempotency_key.as_ref().map(|key| key.as_str().into()),
            timeout_ms: millis(job.timeout),
            deadline_in_ms: job.deadline_in.map(millis),
            payload: payload.json.map(Cow::Borrowed),
            payload_base64: payload.base64,
            result: result.map(Cow::Borrowed),
            result_base64,
            reason: job.reason.as_ref().map(|reason| reason.as_str().into()),
            errors: job.errors.iter().map(FailureBody::of).collect(),
            progress: job.progress.as_ref().map(|progress| ProgressBody {
                fraction: progress.fraction,
                message: progress.message.as_str().into(),
            }),
            logs: job
                .logs
                .iter()
                .map(|line| LineBody { at: Time(line.at), text: line.text.as_str().into() })
                .collect(),
            metadata: Cow::Borrowed(&job.metadata),
            cancel_requested: job.cancel_requested,
            moved_from: job.moved_from,
        }
    }

    /// A job that was stored just now, with times by this clock.
    pub(crate) fn of_new(job: &'a NewJob, now: Timestamp) -> Self {
        let scheduled_at = match job.start() {
            Start::After(delay) => now + delay,
            Start::At(at) => at.max(now),
        };
        let payload = ShownBytes::of(job.payload());
        Self {
            id: job.id(),
            queue: job.queue().as_str().into(),
            kind: job.kind().as_str().into(),
            status: if scheduled_at > now { Status::Scheduled } else { Status::Ready },
            priority: job.priority().level(),
            attempts: 0,
            max_attempts: job.max_attempts(),
            releases: 0,
            lease_seq: 0,
            created_at: Time(now),
            scheduled_at: Time(scheduled_at),
            started_at: None,
            finished_at: None,
            lease_expires_in_ms: None,
            worker: None,
            partition_key: job.partition_key().map(|key| key.as_str().into()),
            idempotency_key: job.idempotency_key().map(|key| key.as_str().into()),
            timeout_ms: millis(job.timeout()),
            deadline_in_ms: job.deadline().map(millis),
            payload: payload.json.map(Cow::Borrowed),
            payload_base64: payload.base64,
            result: None,
            result_base64: None,
            reason: None,
            errors: Vec::new(),
            progress: None,
            logs: Vec::new(),
            metadata: Cow::Borrowed(job.metadata()),
            cancel_requested: false,
            moved_from: job.moved_from(),
        }
    }
}

impl<'a> FailureBody<'a> {
    fn of(failure: &'a queuekit::jobs::Failure) -> Self {
        Self {
            attempt: failure.attempt,
            lease_seq: failure.lease_seq,
            at: Time(failure.at),
            worker: failure.worker.as_ref().map(|worker| worker.as_str().into()),
            error: failure.error.as_str().into(),
        }
    }
}

/// A leased job.
#[derive(Serialize, ToSchema)]
#[schema(as = Lease)]
pub(crate) struct LeasedBody<'a> {
    /// Identifies the lease in ack, nack, extend and report. Opaque, and a secret.
    token: String,
    job: LeasedJob<'a>,
}

/// The fields of a job that a worker needs to run it.
#[derive(Serialize, ToSchema)]
struct LeasedJob<'a> {
    #[schema(value_type = String, format = Uuid)]
    id: JobId,
    queue: &'a str,
    kind: &'a str,
    #[schema(value_type = String)]
    status: Status,
    /// Which attempt this is, 1 for the first.
    attempts: u32,
    max_attempts: u32,
    releases: u32,
    /// Increases with every lease: pass it to other systems as a fence.
    lease_seq: u64,
    priority: u8,
    timeout_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_in_ms: Option<u64>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
    #[schema(value_type = String, format = DateTime)]
    scheduled_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    metadata: &'a Metadata,
}

impl<'a> LeasedBody<'a> {
    pub(crate) fn of(lease: &'a Lease) -> Self {
        let payload = ShownBytes::of(&lease.payload);
        let job = LeasedJob {
            id: lease.id(),
            queue: lease.token.queue.as_str(),
            kind: lease.kind.as_str(),
            status: Status::Running,
            attempts: lease.attempt,
            max_attempts: lease.max_attempts,
            releases: lease.releases,
            lease_seq: lease.token.lease_seq,
            priority: lease.priority.level(),
            timeout_ms: millis(lease.timeout),
            deadline_in_ms: lease.deadline_in.map(millis),
            created_at: Time(lease.created_at),
            scheduled_at: Time(lease.scheduled_at),
            partition_key: lease.partition_key.as_ref().map(|key| key.as_str()),
            payload: payload.json,
            payload_base64: payload.base64,
            metadata: &lease.metadata,
        };
        Self { token: TokenBody::text_of(lease), job }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use queuekit::JobDraft;
    use queuekit::jobs::{Failure, LogLine, Progress};

    use super::*;

    #[test]
    fn a_job_is_shown_as_rust_serializes_it() {
        let new = JobDraft::new("greet", r#"{"a" : 1e400}"#).build().unwrap();
        let (at, error) = (Timestamp::from_millis(7), "no".into());
        let mut job = Job::pending(new.id(), new.queue().clone(), new.kind().clone(), at);
        let same = |job: &Job| {
            let shown = serde_json::to_string(&JobBody::of(job)).unwrap();
            assert_eq!(shown, serde_json::to_string(job).unwrap());
        };
        job.payload = new.payload().clone();
        same(&job);
        job.payload = " 1".into();
        job.started_at = Some(at);
        job.finished_at = Some(Timestamp::from_millis(i64::MAX));
        job.lease_expires_in = Some(Duration::from_micros(1500));
        job.worker = Some("w".try_into().unwrap());
        job.partition_key = Some("p".try_into().unwrap());
        job.idempotency_key = Some("k".try_into().unwrap());
        job.deadline_in = Some(Duration::MAX);
        job.cancel_requested = true;
        job.result = Some("7".into());
        job.reason = Some("no".into());
        let worker = job.worker.clone();
        job.errors = vec![Failure { attempt: 1, lease_seq: 1, at, worker, error }];
        job.progress = Some(Progress::new(0.1, "a tenth"));
        job.logs = vec![LogLine::new(at, "line")];
        job.metadata.insert("a", "b");
        job.moved_from = Some(job.id);
        same(&job);
    }
}
