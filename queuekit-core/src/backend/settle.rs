//! Settling a lease: ack, nack, dead-letter.

use std::time::Duration;

use bytes::Bytes;

use super::LeaseToken;
use crate::enum_words::words;
use crate::job::{ErrorText, JobId, ReleaseCause, Undecodable};
use crate::retry::clamp_nack_delay;

/// Records that a run succeeded.
// Exhaustive: a store that ignores a part of it must not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The lease that ends.
    pub lease: LeaseToken,
    /// What the handler returned, stored in the same step; at most 64 KiB.
    pub result: Option<Bytes>,
}

impl Ack {
    /// An ack without a result.
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
// Exhaustive: code that passes outcomes on, such as a worker or a server, must handle each.
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

/// How a run ended without success.
// Exhaustive: a store has to act on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NackKind {
    /// It failed: run it again after the delay, or dead-letter it if this was the final attempt.
    Retry,
    /// It was released: run it again after the delay. No attempt is spent.
    Release,
    /// It failed, and no retry can help: dead-letter it.
    Fatal,
    /// It was cancelled.
    Cancelled,
}

words!(NackKind "kind" {
    Retry = "retry", Release = "release", Fatal = "fatal", Cancelled = "cancelled",
});

impl NackKind {
    /// Whether it adds a failure to the job's history (contract R4.5).
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Retry | Self::Fatal)
    }
}

/// Records that a run did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nack {
    /// The lease that ends.
    pub lease: LeaseToken,
    /// What to do with the job.
    pub kind: NackKind,
    /// Appended to the job's history, except on release.
    pub error: ErrorText,
    delay: Duration,
    cause: Option<ReleaseCause>,
    // Boxed, because nearly no nack has one.
    mark: Option<Box<Undecodable>>,
}

impl Nack {
    /// A nack; the delay is clamped to 0..=30 days (contract R4.7).
    pub fn new(
        lease: LeaseToken,
        kind: NackKind,
        error: impl Into<ErrorText>,
        delay: Duration,
    ) -> Self {
        let (error, delay) = (error.into(), clamp_nack_delay(delay));
        Self { lease, kind, error, delay, cause: None, mark: None }
    }

    /// A release of a job whose payload could not be read (contract R13.8);
    /// [`park`](crate::lifecycle::park) makes the mark.
    pub fn undecodable(lease: LeaseToken, mark: Undecodable, delay: Duration) -> Self {
        let released = Self::new(lease, NackKind::Release, mark.error.as_str(), delay);
        let released = released.because(ReleaseCause::Undecodable);
        Self { mark: Some(Box::new(mark)), ..released }
    }

    /// Says why the job is released; other kinds ignore it (contract R4.8).
    #[must_use]
    pub fn because(mut self, cause: ReleaseCause) -> Self {
        self.cause = Some(cause);
        self
    }

    /// Why the job is released, if that was said.
    pub fn cause(&self) -> Option<ReleaseCause> {
        self.cause
    }

    /// What could not be read of the payload, if that is why the job is released.
    pub fn mark(&self) -> Option<&Undecodable> {
        self.mark.as_deref()
    }

    /// How long the job waits before it can run again.
    pub fn delay(&self) -> Duration {
        self.delay
    }
}

/// The outcome for one nack (contract R4).
// Exhaustive: code that passes outcomes on, such as a worker or a server, must handle each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum NackOutcome {
    /// It runs again.
    Retrying {
        /// After this long.
        after: Duration,
    },
    /// It is dead.
    Dead,
    /// It runs again, and no attempt is spent.
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

/// Dead-letters a job.
// Exhaustive: a store that ignores a part of it must not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// What is dead-lettered.
    pub target: DeadLetterTarget,
    /// The reason, shown with the job.
    pub reason: ErrorText,
}

/// Which job to dead-letter: by its lease, or by its id.
// Exhaustive: a store has to act on each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeadLetterTarget {
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

impl DeadLetterTarget {
    /// The job.
    pub fn id(&self) -> JobId {
        match self {
            Self::Lease(lease) => lease.id,
            Self::Job { id, .. } => *id,
        }
    }
}

impl DeadLetter {
    /// Dead-letters the job of a lease.
    pub fn of_lease(lease: LeaseToken, reason: impl Into<ErrorText>) -> Self {
        Self { target: DeadLetterTarget::Lease(lease), reason: reason.into() }
    }

    /// Dead-letters a waiting job.
    pub fn of_job(id: JobId, reason: impl Into<ErrorText>) -> Self {
        Self { target: DeadLetterTarget::Job { id, force: false }, reason: reason.into() }
    }

    /// Dead-letters a job even if it is running.
    pub fn forced(id: JobId, reason: impl Into<ErrorText>) -> Self {
        Self { target: DeadLetterTarget::Job { id, force: true }, reason: reason.into() }
    }
}

/// The outcome for one dead-letter (contract R6.1).
// Exhaustive: code that passes outcomes on, such as a worker or a server, must handle each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum DeadLetterOutcome {
    /// It is dead.
    DeadLettered,
    /// It was dead already; its reason is unchanged.
    AlreadyDone,
    /// Its state forbids it: it runs, or it ended otherwise.
    Conflict,
    /// The lease no longer holds; nothing changed.
    LeaseLost,
    /// No such job; nothing changed.
    NotFound,
}
