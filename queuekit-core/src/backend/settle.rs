//! Ending a lease: ack, nack, burial.

use std::time::Duration;

use bytes::Bytes;

use super::LeaseToken;
use crate::job::{ErrorText, JobId};
use crate::retry::clamp_nack_delay;
use crate::words::words;

/// Success, with what the handler returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The lease that ends.
    pub lease: LeaseToken,
    /// Stored in the same step; at most 64 KiB.
    pub result: Option<Bytes>,
}

impl Ack {
    /// Success without a result.
    pub fn new(lease: LeaseToken) -> Self {
        Self { lease, result: None }
    }

    /// The same with a result.
    #[must_use]
    pub fn with_result(mut self, result: impl Into<Bytes>) -> Self {
        self.result = Some(result.into());
        self
    }
}

/// The outcome for one ack (contract R3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum AckOutcome {
    /// The job is completed.
    Acked,
    /// This lease had completed it before.
    AlreadyDone,
    /// The lease no longer holds; nothing changed.
    LeaseLost,
    /// No such job; nothing changed.
    NotFound,
}

/// What a nack says of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NackKind {
    /// It failed: run it again after the delay, or bury it if this was the final attempt.
    Retry,
    /// It was given back unfinished: run it again after the delay, no attempt spent.
    Release,
    /// It failed for good: bury it.
    Fatal,
    /// It was called off.
    Cancelled,
}

words!(NackKind "kind" {
    Retry = "retry", Release = "release", Fatal = "fatal", Cancelled = "cancelled",
});

/// A run that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nack {
    /// The lease that ends.
    pub lease: LeaseToken,
    /// What to do with the job.
    pub kind: NackKind,
    /// Appended to the job's history, except on release.
    pub error: ErrorText,
    delay: Duration,
}

impl Nack {
    /// A nack; the delay is clamped to 0..=30 days (contract R4.7).
    pub fn new(
        lease: LeaseToken,
        kind: NackKind,
        error: impl Into<ErrorText>,
        delay: Duration,
    ) -> Self {
        Self { lease, kind, error: error.into(), delay: clamp_nack_delay(delay) }
    }

    /// How long the job waits before it can run again.
    pub fn delay(&self) -> Duration {
        self.delay
    }
}

/// The outcome for one nack (contract R4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum NackOutcome {
    /// It runs again.
    Retrying {
        /// After this long.
        after: Duration,
    },
    /// It is in the dead-letter queue.
    Dead,
    /// It runs again, no attempt spent.
    Released {
        /// After this long.
        after: Duration,
    },
    /// It is cancelled.
    Cancelled,
    /// The lease no longer holds; nothing changed.
    LeaseLost,
    /// No such job; nothing changed.
    NotFound,
}

/// A move to the dead-letter queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Burial {
    /// What is buried.
    pub target: BurialTarget,
    /// Why; shown with the job.
    pub reason: ErrorText,
}

/// What is buried, and by which right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BurialTarget {
    /// The job of a lease, by its holder.
    Lease(LeaseToken),
    /// A waiting job, by anyone; with `force` a running one too, which breaks its lease.
    Job {
        /// The job.
        id: JobId,
        /// Whether to break a lease.
        force: bool,
    },
}

impl Burial {
    /// Buries the job of a lease.
    pub fn of_lease(lease: LeaseToken, reason: impl Into<ErrorText>) -> Self {
        Self { target: BurialTarget::Lease(lease), reason: reason.into() }
    }

    /// Buries a waiting job.
    pub fn of_job(id: JobId, reason: impl Into<ErrorText>) -> Self {
        Self { target: BurialTarget::Job { id, force: false }, reason: reason.into() }
    }

    /// Buries a job even if somebody runs it.
    pub fn forced(id: JobId, reason: impl Into<ErrorText>) -> Self {
        Self { target: BurialTarget::Job { id, force: true }, reason: reason.into() }
    }
}

/// The outcome for one burial (contract R6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum BuryOutcome {
    /// It is in the dead-letter queue.
    Buried,
    /// It was there before; its reason is unchanged.
    AlreadyDone,
    /// Its state forbids it: it runs, or it ended otherwise.
    Conflict,
    /// The lease no longer holds; nothing changed.
    LeaseLost,
    /// No such job; nothing changed.
    NotFound,
}
