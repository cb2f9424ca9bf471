//! What a worker says of itself in its beats.

use serde::{Deserialize, Deserializer, Serialize};

use super::undecodable::UndecodableKind;
use crate::clock::Timestamp;
use crate::error::read_checked;
use crate::job::{JobId, storable};
use crate::limits::{BEAT_JOBS, BEAT_TEXT_BYTES, BEAT_UNDECODABLE};
use crate::names::Kind;

/// The process of a worker, and the jobs that it runs, for people. Long texts are cut, and at most
/// [`BEAT_JOBS`] jobs are kept.
///
/// ```
/// use queuekit_core::capability::About;
///
/// let about = About::default().with_host("mail-7").with_pid(4711).with_version("1.4.0");
/// assert_eq!(About::from_json(&about.to_json()), about);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    host: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    jobs: Vec<Running>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    undecodable: Vec<UndecodableKind>,
}

/// A job that a worker runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Running {
    /// The job.
    #[serde(deserialize_with = "job_id")]
    pub id: JobId,
    /// Its kind.
    pub kind: Kind,
    /// When this run began, by the clock of the worker.
    pub since: Timestamp,
}

impl Running {
    /// A job of this kind that runs since then.
    pub fn new(id: JobId, kind: Kind, since: Timestamp) -> Self {
        Self { id, kind, since }
    }
}

impl About {
    /// The same, on the machine of this name.
    #[must_use]
    pub fn with_host(mut self, host: &str) -> Self {
        self.host = storable(host, BEAT_TEXT_BYTES);
        self
    }

    /// The same, in the process of this number.
    #[must_use]
    pub fn with_pid(mut self, pid: u32) -> Self {
        self.pid = Some(pid);
        self
    }

    /// The same, of this version of the worker's library.
    #[must_use]
    pub fn with_version(mut self, version: &str) -> Self {
        self.version = storable(version, BEAT_TEXT_BYTES);
        self
    }

    /// The same, started at this time by the clock of the worker.
    #[must_use]
    pub fn with_started_at(mut self, at: Timestamp) -> Self {
        self.started_at = Some(at);
        self
    }

    /// The same with the first [`BEAT_JOBS`] of these jobs.
    #[must_use]
    pub fn with_jobs(mut self, jobs: impl IntoIterator<Item = Running>) -> Self {
        self.jobs = jobs.into_iter().take(BEAT_JOBS).collect();
        self
    }

    /// The same with the first [`BEAT_UNDECODABLE`] of these kinds.
    #[must_use]
    pub fn with_undecodable(mut self, kinds: impl IntoIterator<Item = UndecodableKind>) -> Self {
        self.undecodable = kinds.into_iter().take(BEAT_UNDECODABLE).collect();
        self
    }

    /// The machine; empty if the worker does not tell.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The number of the process.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// The version of the worker's library; empty if the worker does not tell.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// When the worker was started, by its own clock.
    pub fn started_at(&self) -> Option<Timestamp> {
        self.started_at
    }

    /// Jobs that it runs, at most [`BEAT_JOBS`].
    pub fn jobs(&self) -> &[Running] {
        &self.jobs
    }

    /// Kinds whose payloads it could not read lately, at most [`BEAT_UNDECODABLE`].
    pub fn undecodable(&self) -> &[UndecodableKind] {
        &self.undecodable
    }

    /// As one text, for stores.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what [`to_json`](Self::to_json) wrote; of another text nothing is known.
    pub fn from_json(text: &str) -> Self {
        serde_json::from_str::<Self>(text).unwrap_or_default().bounded()
    }

    /// The same within its limits, if another program wrote it.
    fn bounded(mut self) -> Self {
        self.jobs.truncate(BEAT_JOBS);
        self.undecodable.truncate(BEAT_UNDECODABLE);
        for said in &mut self.undecodable {
            said.error = storable(&said.error, BEAT_TEXT_BYTES);
        }
        let (host, version) = (std::mem::take(&mut self.host), std::mem::take(&mut self.version));
        self.with_host(&host).with_version(&version)
    }

    /// The bytes that count towards those of an answer (contract R8.9).
    pub fn bytes(&self) -> usize {
        let jobs: usize = self.jobs.iter().map(|job| JOB_BYTES + job.kind.as_str().len()).sum();
        let undecodable: usize = self.undecodable.iter().map(UndecodableKind::bytes).sum();
        self.host.len() + self.version.len() + jobs + undecodable
    }
}

/// Bytes of a running job without its kind, roughly.
const JOB_BYTES: usize = 80;

fn job_id<'de, D: Deserializer<'de>>(from: D) -> Result<JobId, D::Error> {
    read_checked::<D, String, JobId>(from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::QueueName;

    fn running() -> Running {
        let now = Timestamp::from_millis(1_700_000_000_000);
        Running::new(JobId::generate(&QueueName::default(), now), Kind::new("mail").unwrap(), now)
    }

    #[test]
    fn r3_9_what_a_worker_says_of_itself_survives_its_text() {
        let at = Timestamp::from_millis(1_700_000_000_123);
        let about = About::default().with_host("a\"b").with_pid(7).with_version("1.0.0");
        let about = about.with_started_at(at).with_jobs([running(), running()]);
        let undecodable = UndecodableKind::new(Kind::new("mail").unwrap(), "at body", at);
        let about = about.with_undecodable([undecodable]);
        assert_eq!(About::from_json(&about.to_json()), about);
        for text in ["", "{}", "[]", "{\"jobs\":[{\"id\":\"?\"}]}"] {
            assert_eq!(About::from_json(text), About::default());
        }
    }

    #[test]
    fn r3_9_what_a_worker_says_of_itself_is_bounded_however_it_is_made() {
        let long = "é".repeat(BEAT_TEXT_BYTES);
        let about = About::default().with_host(&long).with_version(&long);
        let about = about.with_jobs(std::iter::repeat_with(running).take(BEAT_JOBS + 1));
        let undecodable = || UndecodableKind::new(running().kind, &long, running().since);
        let many = std::iter::repeat_with(undecodable).take(BEAT_UNDECODABLE + 1);
        let about = about.with_undecodable(many);
        assert_eq!((about.host().len(), about.version().len()), (254, 254), "not within a letter");
        assert_eq!(about.jobs().len(), BEAT_JOBS);
        assert_eq!(about.undecodable().len(), BEAT_UNDECODABLE);
        assert_eq!(about.undecodable()[0].error.len(), 254);
        let mut written: About = about.clone();
        written.jobs.push(running());
        written.undecodable[0].error.clone_from(&long);
        written.undecodable.push(undecodable());
        written.host.clone_from(&long);
        assert_eq!(About::from_json(&written.to_json()), about);
    }
}
