//! A job as it is shown.

use queuekit::{Job, JobId, Lease, Metadata, NewJob, Start, Status, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{Shown, Time, millis};

/// A job.
#[derive(Serialize, ToSchema)]
#[schema(as = Job)]
pub(crate) struct JobBody<'a> {
    #[schema(value_type = String, format = Uuid)]
    id: JobId,
    queue: &'a str,
    r#type: &'a str,
    /// running, expired, ready, failed, scheduled, blocked, dead, cancelled or completed.
    #[schema(value_type = String)]
    status: Status,
    priority: u8,
    attempts: u32,
    max_attempts: u32,
    /// How often it was given back unfinished.
    releases: u32,
    /// Rises with every lease.
    lease_seq: u64,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
    #[schema(value_type = String, format = DateTime)]
    scheduled_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    started_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    finished_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_expires_in_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<&'a str>,
    timeout_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_in_ms: Option<u64>,
    /// Any JSON, as it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<&'a RawValue>,
    /// Instead of `payload`, of bytes that are no JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_base64: Option<String>,
    /// Why it is dead.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// The last 20 failures, oldest first.
    errors: Vec<FailureBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<ProgressShown<'a>>,
    /// The last 100 lines, oldest first.
    logs: Vec<LineBody<'a>>,
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    metadata: &'a Metadata,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    cancel_requested: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Uuid)]
    moved_from: Option<JobId>,
}

/// A failed attempt.
#[derive(Serialize, ToSchema)]
#[schema(as = Failure)]
struct FailureBody<'a> {
    attempt: u32,
    lease_seq: u64,
    #[schema(value_type = String, format = DateTime)]
    at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<&'a str>,
    error: &'a str,
}

/// How far a run has come.
#[derive(Serialize, ToSchema)]
#[schema(as = Progress)]
struct ProgressShown<'a> {
    /// 0 to 1.
    fraction: f32,
    message: &'a str,
}

/// A line that a run has logged.
#[derive(Serialize, ToSchema)]
#[schema(as = LogLine)]
struct LineBody<'a> {
    #[schema(value_type = String, format = DateTime)]
    at: Time,
    text: &'a str,
}

impl<'a> JobBody<'a> {
    /// A job that is stored.
    pub(crate) fn of(job: &'a Job) -> Self {
        let payload = Shown::of(&job.payload);
        let result = job.result.as_deref().map(Shown::of);
        let (result, result_base64) =
            result.map_or((None, None), |result| (result.json, result.base64));
        Self {
            id: job.id,
            queue: job.queue.as_str(),
            r#type: job.kind.as_str(),
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
            worker: job.worker.as_ref().map(|worker| worker.as_str()),
            partition_key: job.partition_key.as_ref().map(|key| key.as_str()),
            idempotency_key: job.idempotency_key.as_ref().map(|key| key.as_str()),
            timeout_ms: millis(job.timeout),
            deadline_in_ms: job.deadline_in.map(millis),
            payload: payload.json,
            payload_base64: payload.base64,
            result,
            result_base64,
            reason: job.reason.as_ref().map(|reason| reason.as_str()),
            errors: job.errors.iter().map(FailureBody::of).collect(),
            progress: job.progress.as_ref().map(|progress| ProgressShown {
                fraction: progress.fraction,
                message: &progress.message,
            }),
            logs: job
                .logs
                .iter()
                .map(|line| LineBody { at: Time(line.at), text: &line.text })
                .collect(),
            metadata: &job.metadata,
            cancel_requested: job.cancel_requested,
            moved_from: job.moved_from,
        }
    }

    /// A job that was stored just now, by this clock.
    pub(crate) fn of_new(job: &'a NewJob, now: Timestamp) -> Self {
        let scheduled_at = match job.start() {
            Start::After(delay) => now + delay,
            Start::At(at) => at.max(now),
        };
        let payload = Shown::of(job.payload());
        Self {
            id: job.id(),
            queue: job.queue().as_str(),
            r#type: job.kind().as_str(),
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
            partition_key: job.partition_key().map(|key| key.as_str()),
            idempotency_key: job.idempotency_key().map(|key| key.as_str()),
            timeout_ms: millis(job.timeout()),
            deadline_in_ms: job.deadline().map(millis),
            payload: payload.json,
            payload_base64: payload.base64,
            result: None,
            result_base64: None,
            reason: None,
            errors: Vec::new(),
            progress: None,
            logs: Vec::new(),
            metadata: job.metadata(),
            cancel_requested: false,
            moved_from: job.moved_from(),
        }
    }
}

impl<'a> FailureBody<'a> {
    fn of(failure: &'a queuekit::Failure) -> Self {
        Self {
            attempt: failure.attempt,
            lease_seq: failure.lease_seq,
            at: Time(failure.at),
            worker: failure.worker.as_ref().map(|worker| worker.as_str()),
            error: failure.error.as_str(),
        }
    }
}

/// A job that a worker holds.
#[derive(Serialize, ToSchema)]
#[schema(as = Lease)]
pub(crate) struct LeasedBody<'a> {
    /// Opaque and a secret: it settles, extends and reports.
    token: String,
    job: LeasedJob<'a>,
}

/// What a worker needs to run it.
#[derive(Serialize, ToSchema)]
struct LeasedJob<'a> {
    #[schema(value_type = String, format = Uuid)]
    id: JobId,
    queue: &'a str,
    r#type: &'a str,
    #[schema(value_type = String)]
    status: Status,
    /// Which attempt this is, 1 for the first.
    attempts: u32,
    max_attempts: u32,
    releases: u32,
    /// Rises with every lease: the number to hand on to other systems as a fence.
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
        let payload = Shown::of(&lease.payload);
        let job = LeasedJob {
            id: lease.id(),
            queue: lease.token.queue.as_str(),
            r#type: lease.kind.as_str(),
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
        Self { token: lease.token.to_secret_string(), job }
    }
}
