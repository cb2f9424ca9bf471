//! How long ended jobs are kept (contract R12).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::limits::{RETENTION_AGE_MIN, RETENTION_GRACE, countable};
use crate::{duration_ms, json_object};

/// How long ended jobs are kept.
///
/// ```
/// use std::time::Duration;
/// use queuekit::queues::{Keep, QueuePatch, Retention};
///
/// let hour = Duration::from_secs(3600);
/// let retention = Retention::default().done(Keep::ALL.max_age(hour).max_jobs(1_000));
/// let patch = QueuePatch::default().retention(retention);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::ToSchema),
    schema(description = "How long ended jobs are kept.")
)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Retention {
    /// Completed and cancelled jobs, together (default 24 h, 100,000 jobs).
    #[serde(deserialize_with = "json_object::deserialize")]
    pub done: Keep,
    /// Dead jobs (default until deleted).
    #[serde(deserialize_with = "json_object::deserialize")]
    pub dead: Keep,
}

impl Retention {
    /// Everything, until deleted.
    pub const ALL: Self = Self { done: Keep::ALL, dead: Keep::ALL };

    /// Sets how long completed and cancelled jobs are kept.
    #[must_use]
    pub const fn done(mut self, keep: Keep) -> Self {
        self.done = keep;
        self
    }

    /// Sets how long dead jobs are kept.
    #[must_use]
    pub const fn dead(mut self, keep: Keep) -> Self {
        self.dead = keep;
        self
    }
}

impl Default for Retention {
    fn default() -> Self {
        let day = Duration::from_secs(24 * 3600);
        Self { done: Keep { age: Some(day), jobs: Some(100_000), bytes: None }, dead: Keep::ALL }
    }
}

/// Limits of what is kept. A job that exceeds any of them is removed.
///
/// In JSON: `{"age_ms": 600000, "jobs": null}`. A value that is absent or null sets no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Keep {
    #[serde(default, rename = "age_ms", with = "duration_ms::option")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u64>, minimum = 600_000))]
    pub(crate) age: Option<Duration>,
    #[serde(default)]
    pub(crate) jobs: Option<u64>,
    #[serde(default)]
    pub(crate) bytes: Option<u64>,
}

impl Keep {
    /// Everything, until deleted.
    pub const ALL: Self = Self { age: None, jobs: None, bytes: None };

    /// Sets or removes the longest time since the end; at least 10 min.
    #[must_use]
    pub fn max_age(mut self, age: impl Into<Option<Duration>>) -> Self {
        self.age = age.into().map(duration_ms::whole);
        self
    }

    /// Sets or removes the largest number of jobs. Jobs that ended less than 60 s ago are kept
    /// anyway.
    #[must_use]
    pub fn max_jobs(mut self, jobs: impl Into<Option<u64>>) -> Self {
        self.jobs = jobs.into();
        self
    }

    /// Sets or removes the largest size of payloads and results, in bytes. Jobs that ended less
    /// than 60 s ago are kept anyway.
    #[must_use]
    pub fn max_bytes(mut self, bytes: impl Into<Option<u64>>) -> Self {
        self.bytes = bytes.into();
        self
    }

    /// Checks that the age is at least 10 min, and that stores can count to each limit.
    ///
    /// # Errors
    /// `Invalid`. It names the limit.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(age) = self.age.filter(|age| *age < RETENTION_AGE_MIN) {
            return Err(Error::invalid("retention age", "at least 10 min", format!("{age:?}")));
        }
        countable("retention age", self.age.map(duration_ms::of))?;
        countable("retention jobs", self.jobs)?;
        countable("retention bytes", self.bytes)
    }

    /// Whether the oldest of `jobs` ended jobs is removed. All of them have `bytes` together, and
    /// the oldest one ended `age` ago.
    pub fn lets_go(&self, age: Duration, jobs: u64, bytes: u64) -> bool {
        let too_old = self.age.is_some_and(|most| age >= most);
        let too_many = self.jobs.is_some_and(|most| jobs > most)
            || self.bytes.is_some_and(|most| bytes > most);
        too_old || (too_many && age >= RETENTION_GRACE)
    }

    /// The longest time since the end.
    pub fn age(&self) -> Option<Duration> {
        self.age
    }

    /// The largest number of jobs.
    pub fn jobs(&self) -> Option<u64> {
        self.jobs
    }

    /// The most bytes of payloads and results.
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }
}
