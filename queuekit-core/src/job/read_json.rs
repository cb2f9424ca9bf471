//! Reads the JSON form of a job back, as programs do that get it from a server.

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{
    ErrorText, Failure, Job, JobId, LogLine, Metadata, Priority, Progress, Release, Status,
    Undecodable,
};
use crate::clock::Timestamp;
use crate::json::{bytes_of, there};
use crate::names::{IdempotencyKey, Kind, PartitionKey, QueueName, WorkerId};
use crate::openapi::schema_of_form;
use crate::{duration_ms, rfc3339};

/// From the object that [`Serialize`](serde::Serialize) writes. Fields that this version does not
/// know are passed over.
///
/// `unique_until_done` is not part of the form, and is false.
impl<'de> Deserialize<'de> for Job {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let shown = Shown::deserialize(from)?;
        let payload = bytes_of::<D>("payload", shown.payload, shown.payload_base64)?;
        let result = bytes_of::<D>("result", shown.result, shown.result_base64)?;
        Ok(Self {
            id: shown.id,
            queue: shown.queue,
            kind: shown.kind,
            payload: payload.unwrap_or_default(),
            state: shown.status.state(),
            status: shown.status,
            priority: shown.priority,
            attempts: shown.attempts,
            max_attempts: shown.max_attempts,
            releases: shown.releases,
            lease_seq: shown.lease_seq,
            created_at: shown.created_at,
            scheduled_at: shown.scheduled_at,
            started_at: shown.started_at,
            finished_at: shown.finished_at,
            lease_expires_in: shown.lease_expires_in,
            worker: shown.worker,
            partition_key: shown.partition_key,
            idempotency_key: shown.idempotency_key,
            unique_until_done: false,
            timeout: shown.timeout,
            deadline_in: shown.deadline_in,
            cancel_requested: shown.cancel_requested,
            result,
            reason: shown.reason,
            errors: shown.errors,
            released: shown.released,
            progress: shown.progress,
            logs: shown.logs,
            metadata: shown.metadata,
            moved_from: shown.moved_from,
        })
    }
}

/// A job.
#[derive(Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Job))]
struct Shown {
    id: JobId,
    queue: QueueName,
    kind: Kind,
    status: Status,
    #[cfg_attr(feature = "openapi", schema(value_type = u8))]
    priority: Priority,
    attempts: u32,
    max_attempts: u32,
    /// How often the job was released.
    releases: u32,
    /// Increases with every lease.
    lease_seq: u64,
    #[serde(with = "rfc3339")]
    #[cfg_attr(feature = "openapi", schema(value_type = rfc3339::Rfc3339))]
    created_at: Timestamp,
    #[serde(with = "rfc3339")]
    #[cfg_attr(feature = "openapi", schema(value_type = rfc3339::Rfc3339))]
    scheduled_at: Timestamp,
    #[serde(default, with = "rfc3339::option")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<rfc3339::Rfc3339>))]
    started_at: Option<Timestamp>,
    #[serde(default, with = "rfc3339::option")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<rfc3339::Rfc3339>))]
    finished_at: Option<Timestamp>,
    #[serde(default, rename = "lease_expires_in_ms", with = "duration_ms::option")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u64>))]
    lease_expires_in: Option<Duration>,
    worker: Option<WorkerId>,
    partition_key: Option<PartitionKey>,
    idempotency_key: Option<IdempotencyKey>,
    #[serde(rename = "timeout_ms", with = "duration_ms")]
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    timeout: Duration,
    #[serde(default, rename = "deadline_in_ms", with = "duration_ms::option")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u64>))]
    deadline_in: Option<Duration>,
    /// The payload as it was enqueued, if it is JSON.
    #[serde(default, deserialize_with = "there")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    payload: Option<Box<RawValue>>,
    /// Instead of `payload`, if the bytes are not JSON.
    payload_base64: Option<String>,
    #[serde(default, deserialize_with = "there")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    result: Option<Box<RawValue>>,
    result_base64: Option<String>,
    /// Why the job is dead.
    reason: Option<ErrorText>,
    /// The last 20 failures, oldest first.
    errors: Vec<Failure>,
    /// The last 20 releases, oldest first.
    #[serde(default)]
    released: Vec<Release>,
    /// What could not be read of the payload when a worker last tried.
    #[expect(dead_code, reason = "a job finds it in its releases")]
    undecodable: Option<Undecodable>,
    progress: Option<Progress>,
    /// The last 100 lines, oldest first.
    logs: Vec<LogLine>,
    metadata: Metadata,
    #[serde(default)]
    cancel_requested: bool,
    moved_from: Option<JobId>,
}

schema_of_form!(Job, Shown);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{ReleaseCause, State};

    fn read_back(job: &Job) {
        let shown = serde_json::to_string(job).unwrap();
        let read: Job = serde_json::from_str(&shown).unwrap();
        assert_eq!(&read, job, "{shown}");
    }

    #[test]
    fn a_job_is_read_as_it_was_shown() {
        let id: JobId = "019b76da-a800-7000-8000-0000000037a8".parse().unwrap();
        let at = Timestamp::from_millis(1_767_225_600_007);
        let pending = Job::pending(id, QueueName::default(), Kind::new("greet").unwrap(), at);
        for payload in [&b"null"[..], b"[1.0, 2]", b"", b" 1", b"\xff"] {
            read_back(&Job { payload: payload.into(), ..pending.clone() });
        }
        let worker = WorkerId::new("w").unwrap();
        let failure = Failure {
            attempt: 1,
            lease_seq: 2,
            at,
            started_at: Some(at),
            worker: Some(worker.clone()),
            error: "no".into(),
        };
        let release = Release {
            lease_seq: 1,
            at,
            started_at: None,
            worker: None,
            cause: Some(ReleaseCause::Undecodable),
            undecodable: Some(Box::new(Undecodable::new("no name", at, 3))),
        };
        read_back(&Job {
            state: State::Running,
            status: Status::Expired,
            payload: "{}".into(),
            priority: Priority::HIGH,
            attempts: 2,
            releases: 3,
            lease_seq: 5,
            started_at: Some(at),
            finished_at: Some(at),
            lease_expires_in: Some(Duration::from_millis(7)),
            worker: Some(worker),
            partition_key: Some("p".try_into().unwrap()),
            idempotency_key: Some("k".try_into().unwrap()),
            timeout: Duration::from_secs(60),
            deadline_in: Some(Duration::ZERO),
            cancel_requested: true,
            result: Some("null".into()),
            reason: Some("out of attempts".into()),
            errors: vec![failure],
            released: vec![release],
            progress: Some(Progress::new(0.5, "half")),
            logs: vec![LogLine::new(at, "line")],
            metadata: [("a", "b")].into_iter().collect(),
            moved_from: Some(id),
            ..pending
        });
    }

    #[test]
    fn a_field_of_a_later_version_is_passed_over_and_a_missing_one_is_an_error() {
        let id: JobId = "019b76da-a800-7000-8000-0000000037a8".parse().unwrap();
        let kind = Kind::new("greet").unwrap();
        let job = Job::pending(id, QueueName::default(), kind, Timestamp::default());
        let mut shown = serde_json::to_value(&job).unwrap();
        shown["colour"] = "red".into();
        assert_eq!(serde_json::from_value::<Job>(shown.clone()).unwrap(), job);
        shown.as_object_mut().unwrap().remove("kind");
        let error = serde_json::from_value::<Job>(shown).unwrap_err();
        assert!(error.to_string().contains("kind"), "{error}");
    }
}
