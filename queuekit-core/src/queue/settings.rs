//! What an operator can set per queue (contract R12).

use std::time::Duration;

use crate::error::{Error, Result};
use crate::limits::{PER_KEY, RETENTION_AGE_MIN, RETENTION_GRACE};

/// The settings of a queue; in force within 1 s of their change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueSettings {
    /// Reserve does nothing here (R6.7) (default false).
    pub paused: bool,
    /// Enqueue answers `QueueFull` at this many pending jobs (R2.8) (default none).
    pub max_pending: Option<u64>,
    /// Live leases a partition key may have at once (R7.3) (default 1).
    pub per_key: u32,
    /// Whether a waiting head of a key holds up the later ones (default block).
    pub key_on_wait: KeyOnWait,
    /// Whether a dead head of a key holds up the later ones (default continue).
    pub key_on_dead: KeyOnDead,
    /// Whether keys are served in turn (default strict).
    pub order: Order,
    /// How long an idempotency key outlives the end of its job (R2.5) (default 24 h).
    pub dedup_window: Duration,
    /// How long ended jobs are kept.
    pub retention: Retention,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self {
            paused: false,
            max_pending: None,
            per_key: 1,
            key_on_wait: KeyOnWait::Block,
            key_on_dead: KeyOnDead::Continue,
            order: Order::Strict,
            dedup_window: Duration::from_secs(24 * 3600),
            retention: Retention::default(),
        }
    }
}

impl QueueSettings {
    /// These settings with some of them replaced.
    #[must_use]
    pub fn patched(mut self, patch: &QueuePatch) -> Self {
        self.paused = patch.paused.unwrap_or(self.paused);
        self.max_pending = patch.max_pending.unwrap_or(self.max_pending);
        self.per_key = patch.per_key.unwrap_or(self.per_key);
        self.key_on_wait = patch.key_on_wait.unwrap_or(self.key_on_wait);
        self.key_on_dead = patch.key_on_dead.unwrap_or(self.key_on_dead);
        self.order = patch.order.unwrap_or(self.order);
        self.dedup_window = patch.dedup_window.unwrap_or(self.dedup_window);
        self.retention = patch.retention.unwrap_or(self.retention);
        self
    }
}

/// A change of some settings; what is `None` stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a patch changes nothing until it is applied"]
pub struct QueuePatch {
    paused: Option<bool>,
    max_pending: Option<Option<u64>>,
    per_key: Option<u32>,
    key_on_wait: Option<KeyOnWait>,
    key_on_dead: Option<KeyOnDead>,
    order: Option<Order>,
    dedup_window: Option<Duration>,
    retention: Option<Retention>,
}

impl QueuePatch {
    /// Pauses or resumes the queue.
    pub fn paused(mut self, paused: bool) -> Self {
        self.paused = Some(paused);
        self
    }

    /// Sets or lifts the limit of pending jobs.
    pub fn max_pending(mut self, jobs: Option<u64>) -> Self {
        self.max_pending = Some(jobs);
        self
    }

    /// Sets how many live leases a key may have; 1..=10,000.
    ///
    /// # Errors
    /// `Invalid` outside that range.
    pub fn per_key(mut self, leases: u32) -> Result<Self> {
        if !(1..=PER_KEY).contains(&leases) {
            return Err(Error::invalid("per_key", format!("1..={PER_KEY}"), leases));
        }
        self.per_key = Some(leases);
        Ok(self)
    }

    /// Sets what a waiting head does to its key.
    pub fn key_on_wait(mut self, policy: KeyOnWait) -> Self {
        self.key_on_wait = Some(policy);
        self
    }

    /// Sets what a dead head does to its key.
    pub fn key_on_dead(mut self, policy: KeyOnDead) -> Self {
        self.key_on_dead = Some(policy);
        self
    }

    /// Sets whether keys are served in turn.
    pub fn order(mut self, order: Order) -> Self {
        self.order = Some(order);
        self
    }

    /// Sets how long idempotency keys outlive their jobs' end.
    pub fn dedup_window(mut self, window: Duration) -> Self {
        self.dedup_window = Some(window);
        self
    }

    /// Sets how long ended jobs are kept.
    pub fn retention(mut self, retention: Retention) -> Self {
        self.retention = Some(retention);
        self
    }

    /// Whether it would change nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a head that is scheduled, failed or released does to the later jobs of its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyOnWait {
    /// They wait for it.
    #[default]
    Block,
    /// They pass it.
    Skip,
}

/// What a head that died does to the later jobs of its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyOnDead {
    /// The next one goes.
    #[default]
    Continue,
    /// They wait until it is retried, deleted or pruned.
    Hold,
}

/// In which order a queue serves its jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// By priority, then time, then sequence (R7.1).
    #[default]
    Strict,
    /// Partition keys in turn (R7.4).
    Fair,
}

/// How long ended jobs are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Completed and cancelled jobs, together (default 24 h, 100,000 jobs).
    pub done: Keep,
    /// Dead jobs (default until deleted).
    pub dead: Keep,
}

impl Default for Retention {
    fn default() -> Self {
        let day = Duration::from_secs(24 * 3600);
        Self { done: Keep { age: Some(day), jobs: Some(100_000), bytes: None }, dead: Keep::ALL }
    }
}

/// A bound on what is kept; a job goes when it is beyond any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    pub(crate) age: Option<Duration>,
    pub(crate) jobs: Option<u64>,
    pub(crate) bytes: Option<u64>,
}

impl Keep {
    /// Everything, until deleted.
    pub const ALL: Self = Self { age: None, jobs: None, bytes: None };

    /// Bounds by age (at least 10 min), number and bytes of payloads and results; none is no
    /// bound. Number and bytes spare jobs that ended less than 60 s ago.
    ///
    /// # Errors
    /// `Invalid` if the age is under 10 min.
    pub fn new(age: Option<Duration>, jobs: Option<u64>, bytes: Option<u64>) -> Result<Self> {
        if let Some(age) = age.filter(|age| *age < RETENTION_AGE_MIN) {
            return Err(Error::invalid("retention age", "at least 10 min", format!("{age:?}")));
        }
        Ok(Self { age, jobs, bytes })
    }

    /// Whether the job that ended so long ago, the oldest of so many with so many bytes, goes.
    pub fn lets_go(&self, age: Duration, jobs: u64, bytes: u64) -> bool {
        let too_old = self.age.is_some_and(|most| age >= most);
        let too_many = self.jobs.is_some_and(|most| jobs > most)
            || self.bytes.is_some_and(|most| bytes > most);
        too_old || (too_many && age >= RETENTION_GRACE)
    }

    /// Longest time since the end.
    pub fn age(&self) -> Option<Duration> {
        self.age
    }

    /// Most jobs.
    pub fn jobs(&self) -> Option<u64> {
        self.jobs
    }

    /// Most bytes of payloads and results.
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }
}
