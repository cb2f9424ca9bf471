//! All transitions of a job (contract R1.3).

use crate::job::State;

/// One way a job changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Transition {
    /// none -> pending.
    Enqueue,
    /// A ready job is leased.
    Reserve,
    /// An expired lease is taken back; place, schedule and sequence are kept.
    Reclaim,
    /// A lease expired on the final attempt.
    ExpireDead,
    /// A lease expired and a cancel was requested.
    ExpireCancelled,
    /// Met by reserve past its deadline.
    MissDeadline,
    /// The run succeeded.
    Ack,
    /// The run failed and will be repeated.
    RetryLater,
    /// The run failed on the final attempt.
    Exhaust,
    /// The run was released.
    Release,
    /// The run failed, and no retry can help.
    Fatal,
    /// The run ended cancelled: by its handler, or because a cancel was requested meanwhile.
    CancelRunning,
    /// Dead-lettered by its lease.
    DeadLetterLease,
    /// Dead-lettered by id while it waited.
    DeadLetterPending,
    /// Dead-lettered by id while it ran, by force.
    DeadLetterForced,
    /// Cancelled while it waited.
    CancelPending,
    /// Asked to stop while it ran.
    RequestCancel,
    /// Deleted on request while it was not running.
    Delete,
    /// Deleted on request while it ran, by force.
    DeleteForced,
    /// Retried after its end.
    Retry,
    /// Removed by retention.
    Prune,
    /// Its record cannot be read.
    Quarantine,
    /// Its lease was extended.
    Extend,
    /// Its run reported progress or log lines.
    Report,
    /// Its schedule was changed.
    Reschedule,
}

impl Transition {
    /// Every transition.
    pub const ALL: [Self; 25] = [
        Self::Enqueue,
        Self::Reserve,
        Self::Reclaim,
        Self::ExpireDead,
        Self::ExpireCancelled,
        Self::MissDeadline,
        Self::Ack,
        Self::RetryLater,
        Self::Exhaust,
        Self::Release,
        Self::Fatal,
        Self::CancelRunning,
        Self::DeadLetterLease,
        Self::DeadLetterPending,
        Self::DeadLetterForced,
        Self::CancelPending,
        Self::RequestCancel,
        Self::Delete,
        Self::DeleteForced,
        Self::Retry,
        Self::Prune,
        Self::Quarantine,
        Self::Extend,
        Self::Report,
        Self::Reschedule,
    ];

    /// The states it can start from; empty if it creates the job.
    pub const fn from(self) -> &'static [State] {
        use State::{Cancelled, Completed, Dead, Pending, Running};
        match self {
            Self::Enqueue => &[],
            Self::Reserve
            | Self::MissDeadline
            | Self::DeadLetterPending
            | Self::CancelPending
            | Self::Reschedule => &[Pending],
            Self::Delete => &[Pending, Completed, Dead, Cancelled],
            Self::Retry => &[Dead, Cancelled],
            Self::Prune => &[Completed, Dead, Cancelled],
            Self::Quarantine => &[Pending, Running],
            Self::Reclaim
            | Self::ExpireDead
            | Self::ExpireCancelled
            | Self::Ack
            | Self::RetryLater
            | Self::Exhaust
            | Self::Release
            | Self::Fatal
            | Self::CancelRunning
            | Self::DeadLetterLease
            | Self::DeadLetterForced
            | Self::RequestCancel
            | Self::DeleteForced
            | Self::Extend
            | Self::Report => &[Running],
        }
    }

    /// The state it ends in; none if it removes the job.
    pub const fn to(self) -> Option<State> {
        match self {
            Self::Enqueue
            | Self::Reclaim
            | Self::RetryLater
            | Self::Release
            | Self::Retry
            | Self::Reschedule => Some(State::Pending),
            Self::Reserve | Self::RequestCancel | Self::Extend | Self::Report => {
                Some(State::Running)
            }
            Self::Ack => Some(State::Completed),
            Self::ExpireCancelled | Self::CancelRunning | Self::CancelPending => {
                Some(State::Cancelled)
            }
            Self::ExpireDead
            | Self::MissDeadline
            | Self::Exhaust
            | Self::Fatal
            | Self::DeadLetterLease
            | Self::DeadLetterPending
            | Self::DeadLetterForced
            | Self::Quarantine => Some(State::Dead),
            Self::Delete | Self::DeleteForced | Self::Prune => None,
        }
    }
}
