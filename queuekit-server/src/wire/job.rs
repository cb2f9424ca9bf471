//! Jobs in answers. The core serializes a job, and commands read the core's type.

use std::borrow::Cow;

use queuekit::jobs::Start;
use queuekit::store::Lease;
use queuekit::store::lifecycle::Record;
use queuekit::{Job, JobId, Metadata, NewJob, Status, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{ShownBytes, Time, TokenBody, millis};

/// One page of jobs.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Jobs, bound = "")]
pub(crate) struct JobsBody<T = Job> {
    #[schema(value_type = Vec<Job>)]
    pub(crate) jobs: Vec<T>,
    /// Cursor of the next page; missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cursor: Option<String>,
    pub(crate) examined: ExaminedBody,
}

/// What the page has looked at, whether it is on the page or not.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Examined)]
pub(crate) struct ExaminedBody {
    /// How many jobs.
    pub(crate) jobs: usize,
    /// The last of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) up_to: Option<JobId>,
}

/// Why a job is not running.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Why)]
pub(crate) struct WhyBody {
    /// `paused`, `blocked`, `scheduled`, `waiting_for_retry`, `undecodable`, `no_live_worker`,
    /// `ready`, `running`, `expired` or `ended`.
    pub(crate) reason: Cow<'static, str>,
    /// The reason in words.
    pub(crate) sentence: String,
}

/// The checkpoints of a job, in the order in which they were stored.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = CheckpointInfos)]
pub(crate) struct CheckpointInfosBody {
    pub(crate) checkpoints: Vec<CheckpointInfoBody>,
}

/// A checkpoint without its result.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = CheckpointInfo)]
pub(crate) struct CheckpointInfoBody {
    /// Name of the step.
    pub(crate) name: String,
    /// When its result was stored.
    pub(crate) at: Time,
    /// Bytes of its result.
    pub(crate) bytes: usize,
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
    id: JobId,
    queue: &'a str,
    kind: &'a str,
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
    created_at: Time,
    scheduled_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
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
