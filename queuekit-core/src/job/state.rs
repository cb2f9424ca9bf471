//! The stored state of a job, and the status a reader is shown.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What a store keeps (contract R1.1).
// Exhaustive: the contract closes the states of a job (R1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::ToSchema),
    schema(description = "The stored state of a job.")
)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Waits to be reserved.
    Pending,
    /// Leased to a worker; the lease may have expired.
    Running,
    /// Done.
    Completed,
    /// In the dead-letter queue.
    Dead,
    /// Cancelled.
    Cancelled,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::Running, Self::Completed, Self::Dead, Self::Cancelled];

    /// Whether the job has ended.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Dead | Self::Cancelled)
    }

    /// The snake_case name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
        }
    }

    /// The statuses a job in this state can show.
    pub const fn statuses(self) -> StatusSet {
        match self {
            Self::Pending => StatusSet::NONE
                .with(Status::Ready)
                .with(Status::Failed)
                .with(Status::Scheduled)
                .with(Status::Blocked),
            Self::Running => StatusSet::NONE.with(Status::Running).with(Status::Expired),
            Self::Completed => StatusSet::NONE.with(Status::Completed),
            Self::Dead => StatusSet::NONE.with(Status::Dead),
            Self::Cancelled => StatusSet::NONE.with(Status::Cancelled),
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a reader is shown: the state and what follows from time and partition keys, derived at
/// the moment of reading (contract R1.1). The order is that of listings (R8.2).
// Exhaustive: the contract closes the statuses of a job (R1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::ToSchema),
    schema(description = "The status of a job.")
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Leased, and the lease is live.
    Running,
    /// Leased, but the lease has expired: the next reserve of the queue reclaims it.
    Expired,
    /// Can be reserved now.
    Ready,
    /// Waits for its retry.
    Failed,
    /// Waits for its time.
    Scheduled,
    /// Its partition key lets no lease of it start now.
    Blocked,
    /// In the dead-letter queue.
    Dead,
    /// Cancelled.
    Cancelled,
    /// Done.
    Completed,
}

impl Status {
    /// Every status, in the order of listings.
    pub const ALL: [Self; 9] = [
        Self::Running,
        Self::Expired,
        Self::Ready,
        Self::Failed,
        Self::Scheduled,
        Self::Blocked,
        Self::Dead,
        Self::Cancelled,
        Self::Completed,
    ];

    /// The snake_case name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Expired => "expired",
            Self::Ready => "ready",
            Self::Failed => "failed",
            Self::Scheduled => "scheduled",
            Self::Blocked => "blocked",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
            Self::Completed => "completed",
        }
    }

    /// The stored state behind it.
    pub const fn state(self) -> State {
        match self {
            Self::Running | Self::Expired => State::Running,
            Self::Ready | Self::Failed | Self::Scheduled | Self::Blocked => State::Pending,
            Self::Dead => State::Dead,
            Self::Cancelled => State::Cancelled,
            Self::Completed => State::Completed,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of statuses, for filters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StatusSet(u16);

impl StatusSet {
    /// No status.
    pub const NONE: Self = Self(0);
    /// Every status.
    pub const ALL: Self = Self(0x1ff);
    /// The statuses of a queue's jobs in the order of listings (contract R8.2), those together
    /// that are listed together: a job goes from one to another only by a change of its state.
    pub const SECTIONS: [Self; 8] = [
        State::Running.statuses(),
        Self::NONE.with(Status::Ready),
        Self::NONE.with(Status::Failed),
        Self::NONE.with(Status::Scheduled),
        Self::NONE.with(Status::Blocked),
        State::Dead.statuses(),
        State::Cancelled.statuses(),
        State::Completed.statuses(),
    ];

    /// This set and one more.
    #[must_use]
    pub const fn with(self, status: Status) -> Self {
        Self(self.0 | 1 << status as u16)
    }

    /// What is in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the status is in the set.
    pub const fn contains(self, status: Status) -> bool {
        self.0 & 1 << status as u16 != 0
    }

    /// Whether any status is in both sets.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The statuses in it, in the order of listings.
    pub fn iter(self) -> impl Iterator<Item = Status> {
        Status::ALL.into_iter().filter(move |status| self.contains(*status))
    }
}

/// Every status.
impl Default for StatusSet {
    fn default() -> Self {
        Self::ALL
    }
}

impl From<Status> for StatusSet {
    fn from(status: Status) -> Self {
        Self::NONE.with(status)
    }
}

impl From<State> for StatusSet {
    fn from(state: State) -> Self {
        state.statuses()
    }
}

impl FromIterator<Status> for StatusSet {
    fn from_iter<I: IntoIterator<Item = Status>>(statuses: I) -> Self {
        statuses.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Debug for StatusSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// A stored state (`pending`, `running` with the expired ones, ..) or a derived status.
impl FromStr for StatusSet {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(state) = State::ALL.into_iter().find(|state| state.as_str() == text) {
            return Ok(state.statuses());
        }
        let status = Status::ALL.into_iter().find(|status| status.as_str() == text);
        status.map(Self::from).ok_or_else(|| {
            let names: Vec<_> = Status::ALL.iter().map(|status| status.as_str()).collect();
            let limit = format!("pending or one of {}", names.join(", "));
            Error::invalid("status", limit, format!("{text:?}"))
        })
    }
}
