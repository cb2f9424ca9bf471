//! A job in answers: the core serializes it, and commands read the core's type.

use std::borrow::Cow;

use queuekit::jobs::Start;
use queuekit::store::Lease;
use queuekit::store::lifecycle::Record;
use queuekit::{Job, JobId, Metadata, NewJob, Status, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{ShownBytes, Time, TokenBody, millis};

/// A job.
#[derive(ToSchema)]
#[schema(as = Job)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct JobForm {
    #[schema(value_type = String, format = Uuid)]
    id: JobId,
    queue: String,
    kind: String,
    /// `running`, `expired`, `ready`, `failed`, `scheduled`, `blocked`, `dead`, `cancelled` or
    /// `completed`.
    #[schema(value_type = String)]
    status: Status,
    priority: u8,
    attempts: u32,
    max_attempts: u32,
    /// How often the job was released.
    releases: u32,
    /// Increases with every lease.
    lease_seq: u64,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
    #[schema(value_type = String, format = DateTime)]
    scheduled_at: Time,
    #[schema(value_type = Option<String>, format = DateTime)]
    started_at: Option<Time>,
    #[schema(value_type = Option<String>, format = DateTime)]
    finished_at: Option<Time>,
    lease_expires_in_ms: Option<u64>,
    worker: Option<String>,
    partition_key: Option<String>,
    idempotency_key: Option<String>,
    timeout_ms: u64,
    deadline_in_ms: Option<u64>,
    /// The payload as it was enqueued, if it is JSON.
    payload: Option<serde_json::Value>,
    /// Instead of `payload`, if the bytes are not JSON.
    payload_base64: Option<String>,
    result: Option<serde_json::Value>,
    result_base64: Option<String>,
    /// Why the job is dead.
    reason: Option<String>,
    /// The last 20 failures, oldest first.
    errors: Vec<FailureForm>,
    /// The last 20 releases, oldest first.
    released: Option<Vec<ReleaseForm>>,
    progress: Option<ProgressForm>,
    /// The last 100 lines, oldest first.
    logs: Vec<LineForm>,
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    metadata: Metadata,
    #[schema(required = false)]
    cancel_requested: bool,
    #[schema(value_type = Option<String>, format = Uuid)]
    moved_from: Option<JobId>,
}

/// A failed attempt.
#[derive(ToSchema)]
#[schema(as = Failure)]
#[expect(dead_code, reason = "only its schema is used")]
struct FailureForm {
    attempt: u32,
    lease_seq: u64,
    #[schema(value_type = String, format = DateTime)]
    at: Time,
    /// When the lease was granted.
    #[schema(value_type = Option<String>, format = DateTime)]
    started_at: Option<Time>,
    worker: Option<String>,
    error: String,
}

/// A run that ended by a release, which spends no attempt.
#[derive(ToSchema)]
#[schema(as = Release)]
#[expect(dead_code, reason = "only its schema is used")]
struct ReleaseForm {
    lease_seq: u64,
    #[schema(value_type = String, format = DateTime)]
    at: Time,
    /// When the lease was granted.
    #[schema(value_type = Option<String>, format = DateTime)]
    started_at: Option<Time>,
    worker: Option<String>,
    /// `shutdown`, `snooze`, `unknown_kind`, `undecodable`, `throttle` or `sleep`.
    cause: Option<String>,
}

/// Progress of a run.
#[derive(ToSchema)]
#[schema(as = Progress)]
#[expect(dead_code, reason = "only its schema is used")]
struct ProgressForm {
    /// 0 to 1.
    fraction: f32,
    message: String,
}

/// A log line of a run.
#[derive(ToSchema)]
#[schema(as = LogLine)]
#[expect(dead_code, reason = "only its schema is used")]
struct LineForm {
    #[schema(value_type = String, format = DateTime)]
    at: Time,
    text: String,
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

/// The job that was stored just now, with times by this clock.
pub(crate) fn stored_job(job: &NewJob, now: Timestamp) -> Job {
    let scheduled_at = match job.start() {
        Start::After(delay) => now + delay,
        Start::At(at) => at.max(now),
    };
    let record = Record::new(job, scheduled_at, 0, now);
    record.view(record.status(false, now), now)
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
