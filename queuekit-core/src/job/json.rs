//! The JSON form of a job: the one that the HTTP API shows and that its clients read.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Failure, Job, LogLine, NewJob, Progress, Release, Start};
use crate::duration_ms;
use crate::json::{put_bytes, put_given};
use crate::rfc3339::Rfc3339;

/// As JSON: the object that `GET /v1/jobs/{id}` returns (`docs/http.md`).
///
/// Times are RFC 3339 in UTC with milliseconds. Durations are whole milliseconds, in fields that
/// end in `_ms`. If the payload is JSON nested at most 64 deep, `payload` has it as a value;
/// otherwise `payload_base64` has its bytes. The same goes for `result`. Absent values are left
/// out.
///
/// ```
/// # use queuekit::{Client, JobDraft, memory::MemoryStore};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit::Result<()> {
/// # let client = Client::new(MemoryStore::new());
/// let id = client.enqueue(JobDraft::new("greet", r#"{"name":"Ada"}"#)).await?;
/// let job = client.jobs().get(id).await?;
/// let json = serde_json::to_value(&job).unwrap();
/// assert_eq!(json["kind"], "greet");
/// assert_eq!(json["payload"]["name"], "Ada");
/// assert_eq!(json["status"], "ready");
/// # Ok(())
/// # }
/// ```
impl Serialize for Job {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("queue", &self.queue)?;
        map.serialize_entry("kind", &self.kind)?;
        map.serialize_entry("status", &self.status)?;
        map.serialize_entry("priority", &self.priority)?;
        map.serialize_entry("attempts", &self.attempts)?;
        map.serialize_entry("max_attempts", &self.max_attempts)?;
        map.serialize_entry("releases", &self.releases)?;
        map.serialize_entry("lease_seq", &self.lease_seq)?;
        map.serialize_entry("created_at", &Rfc3339(self.created_at))?;
        map.serialize_entry("scheduled_at", &Rfc3339(self.scheduled_at))?;
        put_given(&mut map, "started_at", self.started_at.map(Rfc3339))?;
        put_given(&mut map, "finished_at", self.finished_at.map(Rfc3339))?;
        put_given(&mut map, "lease_expires_in_ms", self.lease_expires_in.map(duration_ms::of))?;
        put_given(&mut map, "worker", self.worker.as_ref())?;
        put_given(&mut map, "partition_key", self.partition_key.as_ref())?;
        put_given(&mut map, "idempotency_key", self.idempotency_key.as_ref())?;
        map.serialize_entry("timeout_ms", &duration_ms::of(self.timeout))?;
        put_given(&mut map, "deadline_in_ms", self.deadline_in.map(duration_ms::of))?;
        put_bytes(&mut map, ["payload", "payload_base64"], &self.payload)?;
        if let Some(result) = &self.result {
            put_bytes(&mut map, ["result", "result_base64"], result)?;
        }
        put_given(&mut map, "reason", self.reason.as_ref())?;
        map.serialize_entry("errors", &self.errors)?;
        let released = Some(&self.released).filter(|released| !released.is_empty());
        put_given(&mut map, "released", released)?;
        put_given(&mut map, "undecodable", self.undecodable())?;
        put_given(&mut map, "progress", self.progress.as_ref())?;
        map.serialize_entry("logs", &self.logs)?;
        map.serialize_entry("metadata", &self.metadata)?;
        put_given(&mut map, "cancel_requested", self.cancel_requested.then_some(true))?;
        put_given(&mut map, "moved_from", self.moved_from)?;
        map.end()
    }
}

/// As JSON: an object that the HTTP API and the SQL function `enqueue_many` take. The payload is in
/// `payload_base64`, so that its bytes pass through every reader of JSON as they are.
impl Serialize for NewJob {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("queue", &self.queue)?;
        map.serialize_entry("kind", &self.kind)?;
        map.serialize_entry("payload_base64", &STANDARD.encode(&self.payload))?;
        map.serialize_entry("priority", &self.priority)?;
        map.serialize_entry("max_attempts", &self.max_attempts)?;
        match self.start {
            Start::After(delay) => map.serialize_entry("delay_ms", &whole_ms(delay))?,
            Start::At(at) => map.serialize_entry("run_at", &Rfc3339(at))?,
        }
        put_given(&mut map, "idempotency_key", self.idempotency_key.as_ref())?;
        map.serialize_entry("unique_until_done", &self.unique_until_done)?;
        put_given(&mut map, "partition_key", self.partition_key.as_ref())?;
        map.serialize_entry("timeout_ms", &whole_ms(self.timeout))?;
        put_given(&mut map, "deadline_ms", self.deadline.map(whole_ms))?;
        map.serialize_entry("metadata", &self.metadata)?;
        map.end()
    }
}

/// Rounded up, so that nothing runs early.
fn whole_ms(time: Duration) -> u64 {
    duration_ms::of(duration_ms::whole(time))
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("attempt", &self.attempt)?;
        map.serialize_entry("lease_seq", &self.lease_seq)?;
        map.serialize_entry("at", &Rfc3339(self.at))?;
        put_given(&mut map, "started_at", self.started_at.map(Rfc3339))?;
        put_given(&mut map, "worker", self.worker.as_ref())?;
        map.serialize_entry("error", &self.error)?;
        map.end()
    }
}

impl Serialize for Release {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("lease_seq", &self.lease_seq)?;
        map.serialize_entry("at", &Rfc3339(self.at))?;
        put_given(&mut map, "started_at", self.started_at.map(Rfc3339))?;
        put_given(&mut map, "worker", self.worker.as_ref())?;
        put_given(&mut map, "cause", self.cause)?;
        put_given(&mut map, "undecodable", self.undecodable.as_ref())?;
        map.end()
    }
}

impl Serialize for Progress {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(2))?;
        map.serialize_entry("fraction", &self.fraction)?;
        map.serialize_entry("message", &self.message)?;
        map.end()
    }
}

impl Serialize for LogLine {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(2))?;
        map.serialize_entry("at", &Rfc3339(self.at))?;
        map.serialize_entry("text", &self.text)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clock::Timestamp;
    use crate::job::{JobId, Metadata, ReleaseCause, State, Status, Undecodable};
    use crate::names::{Kind, QueueName, WorkerId};

    fn job() -> Job {
        let id: JobId = "019b76da-a800-7000-8000-0000000037a8".parse().unwrap();
        let at = Timestamp::from_millis(1_767_225_600_007);
        Job::pending(id, QueueName::default(), Kind::new("greet").unwrap(), at)
    }

    #[test]
    fn a_job_that_waits_is_shown_without_what_it_has_not() {
        let shown = serde_json::to_string(&Job { payload: "[1.0, 2]".into(), ..job() }).unwrap();
        let wanted = concat!(
            r#"{"id":"019b76da-a800-7000-8000-0000000037a8","queue":"default","kind":"greet","#,
            r#""status":"ready","priority":10,"attempts":0,"max_attempts":1,"releases":0,"#,
            r#""lease_seq":0,"created_at":"2026-01-01T00:00:00.007Z","#,
            r#""scheduled_at":"2026-01-01T00:00:00.007Z","timeout_ms":0,"#,
            r#""payload":[1.0, 2],"errors":[],"logs":[],"metadata":{}}"#,
        );
        assert_eq!(shown, wanted);
    }

    #[test]
    fn a_job_that_failed_is_shown_with_all_it_has() {
        let at = Timestamp::from_millis(0);
        let worker = WorkerId::new("w").unwrap();
        let failed = Failure {
            attempt: 1,
            lease_seq: 2,
            at,
            started_at: Some(at),
            worker: Some(worker.clone()),
            error: "no".into(),
        };
        let released = Release {
            lease_seq: 3,
            at,
            started_at: None,
            worker: None,
            cause: Some(ReleaseCause::Undecodable),
            undecodable: Some(Box::new(Undecodable::new("no name", at, 1))),
        };
        let job = Job {
            state: State::Running,
            status: Status::Running,
            payload: b"\xff"[..].into(),
            result: Some(" 1".into()),
            started_at: Some(at),
            lease_expires_in: Some(Duration::from_millis(7)),
            worker: Some(worker),
            errors: vec![failed],
            released: vec![released],
            releases: 1,
            progress: Some(Progress::new(0.5, "half")),
            logs: vec![LogLine::new(at, "line")],
            metadata: [("a", "b")].into_iter().collect::<Metadata>(),
            cancel_requested: true,
            moved_from: Some(job().id),
            ..job()
        };
        let shown = serde_json::to_value(&job).unwrap();
        let epoch = "1970-01-01T00:00:00.000Z";
        let mark = json!({"error": "no name", "since": epoch, "times": 1});
        for (name, wanted) in [
            ("payload_base64", json!("/w==")),
            ("result_base64", json!("IDE=")),
            ("started_at", json!(epoch)),
            ("lease_expires_in_ms", json!(7)),
            ("worker", json!("w")),
            (
                "errors",
                json!([{
                    "attempt": 1, "lease_seq": 2, "at": epoch, "started_at": epoch, "worker": "w",
                    "error": "no",
                }]),
            ),
            (
                "released",
                json!([{
                    "lease_seq": 3, "at": epoch, "cause": "undecodable", "undecodable": mark,
                }]),
            ),
            ("undecodable", mark),
            ("progress", json!({"fraction": 0.5, "message": "half"})),
            ("logs", json!([{"at": epoch, "text": "line"}])),
            ("metadata", json!({"a": "b"})),
            ("cancel_requested", json!(true)),
            ("moved_from", json!(job.id)),
        ] {
            assert_eq!(shown[name], wanted, "{name}");
        }
        assert!(shown.get("payload").is_none() && shown.get("result").is_none());
    }
}
