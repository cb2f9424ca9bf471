//! A job as it is read.

use std::time::Duration;

use bytes::Bytes;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{ErrorText, JobId, Metadata, Payload, Priority, State, Status, Undecodable};
use crate::clock::Timestamp;
use crate::enum_words::words;
use crate::error::{Error, ErrorKind, Result};
use crate::job::error_text::storable;
use crate::json::json_bytes;
use crate::limits::LOG_LINE_BYTES;
use crate::names::{IdempotencyKey, Kind, PartitionKey, QueueName, WorkerId};

/// A stored job as readers see it, without the nonce of its lease (R3.1).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each name says it; what does not is documented")]
pub struct Job {
    pub id: JobId,
    pub queue: QueueName,
    pub kind: Kind,
    /// Byte for byte as enqueued; empty if the record is unreadable.
    pub payload: Bytes,
    /// The stored state.
    pub state: State,
    /// The status, derived at the moment of reading.
    pub status: Status,
    pub priority: Priority,
    /// Leases granted since enqueue or retry, minus releases.
    pub attempts: u32,
    pub max_attempts: u32,
    pub releases: u32,
    /// Rises with every lease and is never reset: the fencing number.
    pub lease_seq: u64,
    pub created_at: Timestamp,
    pub scheduled_at: Timestamp,
    /// When the last lease was granted.
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// The time left of the present lease.
    pub lease_expires_in: Option<Duration>,
    /// The worker that holds the lease, or held the last one.
    pub worker: Option<WorkerId>,
    pub partition_key: Option<PartitionKey>,
    pub idempotency_key: Option<IdempotencyKey>,
    pub unique_until_done: bool,
    pub timeout: Duration,
    /// Time left until the job may no longer be started.
    pub deadline_in: Option<Duration>,
    pub cancel_requested: bool,
    pub result: Option<Bytes>,
    /// Why the job is dead.
    pub reason: Option<ErrorText>,
    /// The last 20 failures, oldest first.
    pub errors: Vec<Failure>,
    /// The last 20 releases, oldest first.
    pub released: Vec<Release>,
    pub progress: Option<Progress>,
    /// The last 100 lines, oldest first.
    pub logs: Vec<LogLine>,
    pub metadata: Metadata,
    pub moved_from: Option<JobId>,
}

impl Job {
    /// A job as it is right after its enqueue; stores set what has changed since.
    pub fn pending(id: JobId, queue: QueueName, kind: Kind, created_at: Timestamp) -> Self {
        Self {
            id,
            queue,
            kind,
            payload: Bytes::new(),
            state: State::Pending,
            status: Status::Ready,
            priority: Priority::NORMAL,
            attempts: 0,
            max_attempts: 1,
            releases: 0,
            lease_seq: 0,
            created_at,
            scheduled_at: created_at,
            started_at: None,
            finished_at: None,
            lease_expires_in: None,
            worker: None,
            partition_key: None,
            idempotency_key: None,
            unique_until_done: false,
            timeout: Duration::ZERO,
            deadline_in: None,
            cancel_requested: false,
            result: None,
            reason: None,
            errors: Vec::new(),
            released: Vec::new(),
            progress: None,
            logs: Vec::new(),
            metadata: Metadata::default(),
            moved_from: None,
        }
    }

    /// Decodes the payload; the field of the same name has its bytes.
    ///
    /// # Errors
    /// `Invalid` if the job is of another kind than the payload; `Corrupt` if the bytes do not fit
    /// the type, as [`Payload::decode`] says.
    ///
    /// ```
    /// # use queuekit::{Client, Payload, memory::MemoryStore};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Greet { name: String }
    /// # impl Payload for Greet { const KIND: &'static str = "greet"; }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> queuekit::Result<()> {
    /// # let client = Client::new(MemoryStore::new());
    /// let id = client.enqueue(Greet { name: "Ada".into() }).await?;
    /// let job = client.jobs().get(id).await?.expect("the job is stored");
    /// assert_eq!(job.payload::<Greet>()?.name, "Ada");
    /// # Ok(())
    /// # }
    /// ```
    pub fn payload<P: Payload>(&self) -> Result<P> {
        if self.kind.as_str() != P::KIND {
            let limit = format!("{} to decode the payload as this type", P::KIND);
            return Err(Error::invalid("kind", limit, &self.kind).on(self.id));
        }
        let version = self.metadata.payload_version();
        let payload = version.and_then(|version| P::decode_version(version, &self.payload));
        payload.map_err(|error| error.on(self.id))
    }

    /// The bytes that count towards those of an answer (contract R8.9).
    pub fn bytes(&self) -> usize {
        let errors = self.errors.iter().map(|failure| json_bytes(failure.error.as_str()));
        let logs = self.logs.iter().map(|line| json_bytes(&line.text));
        let marks = self.released.iter().filter_map(|release| release.undecodable.as_ref());
        let marks = marks.map(|mark| json_bytes(mark.error.as_str()));
        let texts: usize = errors.chain(logs).chain(marks).sum();
        let result = self.result.as_ref().map_or(0, Bytes::len);
        self.payload.len() + self.metadata.json_bytes() + result + texts
    }

    /// Decodes the result of a completed job from JSON; the field of the same name has its bytes.
    ///
    /// A handler that returns `()` stores no result, which decodes as `()` and as `None`.
    ///
    /// # Errors
    /// `Conflict` if the job has not completed: the message has its status, and why it is dead;
    /// `Corrupt` if the result does not fit the type.
    ///
    /// ```no_run
    /// # async fn receipt(client: queuekit::Client, id: queuekit::JobId)
    /// # -> queuekit::Result<String> {
    /// let receipt: String = client.jobs().wait(id).await?.result()?;
    /// # Ok(receipt)
    /// # }
    /// ```
    pub fn result<T: DeserializeOwned>(&self) -> Result<T> {
        if self.state != State::Completed {
            let why = self.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let message = format!("the job is {}, not completed{why}", self.status);
            return Err(Error::new(ErrorKind::Conflict, message).on(self.id));
        }
        let bytes = self.result.as_deref().unwrap_or(b"null");
        super::payload::json(bytes, "result").map_err(|error| error.on(self.id))
    }
}

/// One failed attempt (contract R4.5).
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::ToSchema),
    schema(description = "A failed attempt.")
)]
pub struct Failure {
    /// 1 for the first.
    pub attempt: u32,
    /// The lease it failed under.
    pub lease_seq: u64,
    /// Store time.
    #[serde(deserialize_with = "crate::rfc3339::deserialize")]
    #[cfg_attr(feature = "openapi", schema(value_type = crate::rfc3339::Rfc3339))]
    pub at: Timestamp,
    /// When the lease was granted; absent for failures that an older release recorded.
    #[serde(default, deserialize_with = "crate::rfc3339::option::deserialize")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::rfc3339::Rfc3339>))]
    pub started_at: Option<Timestamp>,
    /// The worker that ran the job.
    pub worker: Option<WorkerId>,
    /// What went wrong.
    pub error: ErrorText,
}

/// One run that ended by a release: it did not fail, and spent no attempt (contract R4.8).
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::ToSchema),
    schema(description = "A run that ended by a release, which spends no attempt.")
)]
pub struct Release {
    /// The lease that was released.
    pub lease_seq: u64,
    /// Store time.
    #[serde(deserialize_with = "crate::rfc3339::deserialize")]
    #[cfg_attr(feature = "openapi", schema(value_type = crate::rfc3339::Rfc3339))]
    pub at: Timestamp,
    /// When the lease was granted.
    #[serde(default, deserialize_with = "crate::rfc3339::option::deserialize")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::rfc3339::Rfc3339>))]
    pub started_at: Option<Timestamp>,
    /// The worker that ran the job.
    pub worker: Option<WorkerId>,
    /// Why it was released; absent if the worker did not say.
    pub cause: Option<ReleaseCause>,
    /// What could not be read of the payload, if that was the cause and the worker said it.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Undecodable>))]
    pub undecodable: Option<Box<Undecodable>>,
}

/// Why a worker released a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReleaseCause {
    /// The worker shut down before the run ended.
    Shutdown,
    /// The handler asked to run again later.
    Snooze,
    /// The worker has no handler for the job's kind.
    UnknownKind,
    /// The payload does not fit the handler's type.
    Undecodable,
    /// A limit of the job's kind left no room for it.
    Throttle,
    /// A step of the handler sleeps.
    Sleep,
}

words!(ReleaseCause "cause" {
    Shutdown = "shutdown", Snooze = "snooze", UnknownKind = "unknown_kind",
    Undecodable = "undecodable", Throttle = "throttle", Sleep = "sleep",
});

/// How far a run has come; [`new`](Self::new) makes it storable.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Progress {
    /// 0.0..=1.0.
    pub fraction: f32,
    /// What the run is doing; empty if it has not said so.
    pub message: String,
}

impl Progress {
    /// Progress with the fraction clamped to 0..=1 and the message to 1 KiB.
    pub fn new(fraction: f32, message: &str) -> Self {
        let fraction = if fraction.is_nan() { 0.0 } else { fraction.clamp(0.0, 1.0) };
        Self { fraction, message: storable(message, LOG_LINE_BYTES) }
    }
}

/// One line a run has logged.
// Exhaustive: a line is its time and its text.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogLine {
    /// Store time at which the line was reported.
    #[serde(deserialize_with = "crate::rfc3339::deserialize")]
    #[cfg_attr(feature = "openapi", schema(value_type = crate::rfc3339::Rfc3339))]
    pub at: Timestamp,
    /// At most 1 KiB.
    pub text: String,
}

impl LogLine {
    /// A line as it is stored: NUL replaced, cut at 1 KiB on a char boundary.
    pub fn new(at: Timestamp, line: &str) -> Self {
        Self { at, text: storable(line, LOG_LINE_BYTES) }
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    struct Greet {
        name: String,
    }

    impl Payload for Greet {
        const KIND: &'static str = "greet";
    }

    fn job(kind: &str, payload: &'static str) -> Job {
        let id: JobId = "019b76da-a800-7000-8000-0000000037a8".parse().unwrap();
        let kind = Kind::new(kind).unwrap();
        let job = Job::pending(id, QueueName::default(), kind, Timestamp::default());
        Job { payload: payload.into(), ..job }
    }

    #[test]
    fn a_payload_is_decoded_only_as_the_kind_it_is() {
        let name = r#"{"name":"Ada"}"#;
        assert_eq!(job("greet", name).payload::<Greet>().unwrap().name, "Ada");
        let error = job("other", name).payload::<Greet>().unwrap_err();
        assert_eq!(error.kind().as_str(), "invalid", "{error}");
        let error = job("greet", r#"{"name":1}"#).payload::<Greet>().unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Corrupt);
        assert!(error.to_string().contains("payload of greet at name: invalid"), "{error}");
        let error = job("greet", "7").payload::<Greet>().unwrap_err();
        assert!(
            error.to_string().contains("payload of greet at its top level: invalid"),
            "{error}"
        );
    }

    #[test]
    fn a_result_is_decoded_only_of_a_job_that_has_completed() {
        let ended = |state, status, result: Option<&'static str>| Job {
            state,
            status,
            result: result.map(Bytes::from),
            reason: Some("out of attempts".into()),
            ..job("greet", "")
        };
        let done = |result| ended(State::Completed, Status::Completed, result);
        assert_eq!(done(Some("7")).result::<u8>().unwrap(), 7);
        done(None).result::<()>().unwrap();
        assert_eq!(done(None).result::<Option<u8>>().unwrap(), None);
        let error = done(Some("[1, true]")).result::<Vec<u8>>().unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Corrupt);
        assert!(error.to_string().contains("result at [1]"), "{error}");
        let error = ended(State::Dead, Status::Dead, Some("7")).result::<u8>().unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Conflict);
        assert!(error.to_string().contains("dead, not completed: out of attempts"), "{error}");
    }
}
