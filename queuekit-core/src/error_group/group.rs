//! A group of errors, and what one step adds to it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{RecentErrors, Signature};
use crate::clock::Timestamp;
use crate::digest::hex;
use crate::error::{Error, Result};
use crate::job::JobId;
use crate::lifecycle::Transition;
use crate::names::{Kind, QueueName};

/// Errors of one queue with the same kind and signature.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorGroup {
    /// The queue.
    pub queue: QueueName,
    /// Kind and signature.
    pub key: GroupKey,
    /// Attempts that failed with such an error, expired leases included.
    pub failures: u64,
    /// Jobs that died of it.
    pub deaths: u64,
    /// When the group began.
    pub first: Timestamp,
    /// When it was last added to.
    pub last: Timestamp,
    /// The job that it was last added to for; it may be gone.
    pub sample: JobId,
    /// When its errors occurred lately, by the time at which it was listed.
    pub recent: RecentErrors,
}

impl ErrorGroup {
    /// A group with its first error.
    pub fn begun(queue: QueueName, key: GroupKey, delta: GroupDelta, at: Timestamp) -> Self {
        let GroupDelta { failures, deaths, errors, sample } = delta;
        let mut recent = RecentErrors::default();
        recent.add(errors, at);
        Self { queue, key, failures, deaths, first: at, last: at, sample, recent }
    }

    /// Adds what happened at this time.
    pub fn add(&mut self, delta: GroupDelta, at: Timestamp) {
        self.failures = self.failures.saturating_add(delta.failures);
        self.deaths = self.deaths.saturating_add(delta.deaths);
        self.last = self.last.max(at);
        self.sample = delta.sample;
        self.recent.add(delta.errors, at);
    }

    /// Keeps the most recent, at most this number, the most recent first; equal times by queue,
    /// kind and signature.
    pub fn keep_latest(groups: &mut Vec<Self>, most: usize) {
        groups.sort_by(|a, b| {
            let by_time = b.last.cmp(&a.last);
            by_time.then_with(|| a.queue.cmp(&b.queue)).then_with(|| a.key.cmp(&b.key))
        });
        groups.truncate(most);
    }
}

/// What tells a group from the others of its queue.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKey {
    /// The kind of its jobs.
    pub kind: Kind,
    /// What their errors have in common.
    pub signature: Signature,
}

impl GroupKey {
    /// The group of an error of a job of this kind.
    pub fn of(kind: Kind, error: &str) -> Self {
        Self { kind, signature: Signature::of(error) }
    }

    /// Its id, which is the same in each queue.
    pub fn id(&self) -> GroupId {
        GroupId::of(self.kind.as_str(), &self.signature)
    }
}

/// What one step adds to a group.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupDelta {
    /// Attempts that failed.
    pub failures: u64,
    /// Jobs that died.
    pub deaths: u64,
    /// Both together; a failure that ended its job dead is one.
    pub errors: u64,
    /// The last of these jobs.
    pub sample: JobId,
}

impl GroupDelta {
    /// What a transition of this job adds to the group of its error: a failure if one was added to
    /// the job's history, a death if it ends dead. None if it adds nothing.
    pub fn of(transition: Transition, failed: bool, job: JobId) -> Option<Self> {
        let is_dead = transition.to() == Some(crate::job::State::Dead);
        let (failures, deaths) = (u64::from(failed), u64::from(is_dead));
        (failed || is_dead).then_some(Self { failures, deaths, errors: 1, sample: job })
    }

    /// Adds what came after it.
    pub fn add(&mut self, later: Self) {
        self.failures += later.failures;
        self.deaths += later.deaths;
        self.errors += later.errors;
        self.sample = later.sample;
    }
}

/// The id of an error group: 16 hexadecimal digits, made of kind and signature.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GroupId([u8; 8]);

impl GroupId {
    /// The id of the group of this kind and signature.
    pub fn of(kind: &str, signature: &Signature) -> Self {
        let mut digest = Sha256::new();
        digest.update([signature.version()]);
        digest.update(kind);
        digest.update([0]);
        digest.update(signature.as_str());
        let mut id = [0; 8];
        id.copy_from_slice(&digest.finalize()[..8]);
        Self(id)
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for GroupId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let is_id = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match u64::from_str_radix(text, 16) {
            Ok(id) if is_id => Ok(Self(id.to_be_bytes())),
            _ => {
                let limit = "16 hexadecimal digits, as `queuekit errors list` prints them";
                Err(Error::invalid("group", limit, format!("{text:?}")))
            }
        }
    }
}

impl TryFrom<&str> for GroupId {
    type Error = Error;

    fn try_from(text: &str) -> Result<Self> {
        text.parse()
    }
}

impl TryFrom<String> for GroupId {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<GroupId> for String {
    fn from(id: GroupId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::JobId;

    /// People and links hold these ids: they change with no version.
    #[test]
    fn r8_4_a_group_keeps_its_id() {
        let key = GroupKey::of(Kind::new("mail").unwrap(), "HTTP 503");
        assert_eq!(key.id().to_string(), "eeee53b11a39f71d");
        assert_eq!("eeee53b11a39f71d".parse::<GroupId>().unwrap(), key.id());
        let other = GroupKey::of(Kind::new("mai").unwrap(), "l HTTP 503");
        assert_ne!(other.id(), key.id());
        for wrong in ["", "0f0b", "0f0b3a1c0f0b3a1g", "+f0b3a1c0f0b3a1c", "0f0b3a1c0f0b3a1c0"] {
            assert!(wrong.parse::<GroupId>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn r8_4_each_transition_adds_what_it_is() {
        let job = JobId::generate(&QueueName::default(), Timestamp::default());
        for transition in Transition::ALL {
            let is_dead = transition.to() == Some(crate::job::State::Dead);
            let delta = GroupDelta::of(transition, false, job);
            assert_eq!(
                delta.map(|delta| (delta.failures, delta.deaths)),
                is_dead.then_some((0, 1))
            );
            let delta = GroupDelta::of(transition, true, job).unwrap();
            assert_eq!((delta.failures, delta.deaths), (1, u64::from(is_dead)));
            assert_eq!(delta.errors, 1);
        }
    }
}
