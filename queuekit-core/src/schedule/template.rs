//! The job that a schedule enqueues.

use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::job::{JobDraft, JobId, Metadata, NewJob, Priority, Start};
use crate::names::{Kind, PartitionKey, QueueName, ScheduleName};
use crate::retry::schedule_jitter;

/// In the metadata of a schedule's job: the name of the schedule.
pub const SCHEDULE: &str = "schedule";
/// In the metadata of a schedule's job: the nominal time in ms since 1970; absent if the run was
/// requested.
pub const NOMINAL_MS: &str = "nominal_ms";

/// A job without an id and a time. Each occurrence makes a job of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobTemplate {
    queue: QueueName,
    kind: Kind,
    /// The payload is stored separately, byte for byte.
    #[serde(skip)]
    payload: Bytes,
    priority: Priority,
    max_attempts: u32,
    timeout_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partition_key: Option<PartitionKey>,
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    metadata: Metadata,
}

impl JobTemplate {
    /// The template that this draft describes.
    ///
    /// # Errors
    /// `Invalid` if the draft is invalid, or if it sets what differs per occurrence: an id, a time
    /// to run, an idempotency key, or a job that it was moved from.
    pub fn of(draft: JobDraft) -> Result<Self> {
        let has_id = draft.has_id();
        let job = draft.build()?;
        let refuse =
            |field, what: &str| Err(Error::invalid(field, "absent in the job of a schedule", what));
        if has_id {
            return refuse("id", "an id: each occurrence has its own");
        } else if job.start() != Start::After(Duration::ZERO) {
            return refuse("delay", "a time to run: the schedule says when");
        } else if job.idempotency_key().is_some() || job.unique_until_done() {
            return refuse("idempotency_key", "a key: an occurrence is enqueued once without it");
        } else if job.moved_from().is_some() {
            return refuse("moved_from", "a job that was moved");
        }
        Ok(Self {
            queue: job.queue().clone(),
            kind: job.kind().clone(),
            payload: job.payload().clone(),
            priority: job.priority(),
            max_attempts: job.max_attempts(),
            timeout_ms: millis(job.timeout()),
            deadline_ms: job.deadline().map(millis),
            partition_key: job.partition_key().cloned(),
            metadata: job.metadata().clone(),
        })
    }

    /// The queue.
    pub fn queue(&self) -> &QueueName {
        &self.queue
    }

    /// The kind.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The payload.
    pub fn payload(&self) -> &Bytes {
        &self.payload
    }

    /// The priority.
    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// The largest number of attempts.
    pub fn max_attempts(&self) -> u32 {
        self.max_attempts
    }

    /// The longest time of one run.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// How long after its enqueue a job may still be started.
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline_ms.map(Duration::from_millis)
    }

    /// The partition key.
    pub fn partition_key(&self) -> Option<&PartitionKey> {
        self.partition_key.as_ref()
    }

    /// The metadata, without what each occurrence adds.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    pub(super) fn with_payload(mut self, payload: Bytes) -> Self {
        self.payload = payload;
        self
    }

    /// The job of an occurrence. It may run from its nominal time on, plus the jitter.
    pub(super) fn at(
        &self,
        name: &ScheduleName,
        nominal: Timestamp,
        jitter: Duration,
    ) -> Result<NewJob> {
        let id = JobId::of_occurrence(&self.queue, name, nominal);
        let draft = self.draft(name, Some(nominal));
        draft.run_at(nominal + schedule_jitter(jitter, id)).build_as(id)
    }

    /// The job of a requested run.
    pub(super) fn now(&self, name: &ScheduleName) -> Result<NewJob> {
        self.draft(name, None).build()
    }

    fn draft(&self, name: &ScheduleName, nominal: Option<Timestamp>) -> JobDraft {
        let mut metadata = self.metadata.clone();
        metadata.insert(SCHEDULE, name.as_str());
        if let Some(nominal) = nominal {
            metadata.insert(NOMINAL_MS, nominal.as_millis().to_string());
        }
        let mut draft = JobDraft::new(&self.kind, self.payload.clone())
            .queue(&self.queue)
            .priority(self.priority)
            .max_attempts(self.max_attempts)
            .timeout(self.timeout())
            .metadata(metadata);
        if let Some(deadline) = self.deadline() {
            draft = draft.deadline(deadline);
        }
        if let Some(key) = &self.partition_key {
            draft = draft.partition_key(key);
        }
        draft
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn what_differs_per_occurrence_is_refused_by_its_field() {
        let draft = || JobDraft::new("report", "{}");
        let id = JobId::generate(&QueueName::default(), Timestamp::from_millis(0));
        for (wrong, named) in [
            (draft().id(id), "id"),
            (draft().delay(Duration::from_secs(1)), "delay"),
            (draft().idempotency_key("key"), "idempotency_key"),
            (draft().moved_from(id), "moved_from"),
        ] {
            let error = JobTemplate::of(wrong).unwrap_err();
            let ErrorKind::Invalid { field, .. } = error.kind() else { panic!("{error}") };
            assert_eq!(*field, named, "{error}");
        }
        assert!(JobTemplate::of(draft()).is_ok());
    }
}
