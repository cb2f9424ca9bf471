//! The figures of a queue (contract R8.3).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Health, QueueSettings};
use crate::clock::Timestamp;
use crate::job::{State, Status};
use crate::names::QueueName;
use crate::{duration_ms, rfc3339};

/// A queue in a listing.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Queue {
    /// The name.
    pub name: QueueName,
    /// The settings.
    pub settings: QueueSettings,
    /// The jobs by status.
    pub counts: Counts,
    /// How the jobs have ended so far.
    pub totals: Totals,
    /// How long the oldest job that could run now has been due.
    #[serde(default, rename = "oldest_ready_age_ms", with = "duration_ms::option")]
    pub oldest_ready_age: Option<Duration>,
    /// The health of the queue.
    pub health: Health,
    /// Live workers that serve the queue.
    pub workers: u64,
    /// Unreadable records that were found since the queue was created (R5.8).
    pub corrupt: u64,
    /// When the figures were true, by the store's clock.
    #[serde(deserialize_with = "rfc3339::deserialize")]
    pub as_of: Timestamp,
}

impl Queue {
    /// How much longer the queue is paused; none if it is not, or if its pause has no end.
    pub fn pause_left(&self) -> Option<Duration> {
        let until = self.settings.paused_until.filter(|_| self.settings.paused);
        until.map(|end| end.since(self.as_of))
    }

    /// A queue without jobs.
    pub fn empty(name: QueueName, settings: QueueSettings, as_of: Timestamp) -> Self {
        Self {
            name,
            settings,
            counts: Counts::default(),
            totals: Totals::default(),
            oldest_ready_age: None,
            health: super::health(super::HealthInput::default()),
            workers: 0,
            corrupt: 0,
            as_of,
        }
    }
}

/// A number of jobs; above 10,000 it may be an estimate.
// Exhaustive: a number, and whether it was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Count {
    /// How many.
    pub value: u64,
    /// Whether it was counted rather than estimated.
    pub exact: bool,
}

impl Count {
    /// A number that was counted.
    pub const fn exact(value: u64) -> Self {
        Self { value, exact: true }
    }

    /// A number that was estimated.
    pub const fn estimate(value: u64) -> Self {
        Self { value, exact: false }
    }
}

impl Default for Count {
    fn default() -> Self {
        Self::exact(0)
    }
}

/// What has happened in a queue since it was created, also to jobs that are no longer stored. A job
/// that is retried ends again and counts again.
// Exhaustive: a store that leaves a number out must not compile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Totals {
    /// How many were completed.
    pub completed: u64,
    /// How many died.
    pub dead: u64,
    /// How many were cancelled.
    pub cancelled: u64,
    /// How many jobs were enqueued; 0 where the store keeps no history.
    #[serde(default)]
    pub enqueued: u64,
    /// How many attempts failed, those whose lease expired included; 0 where the store keeps no
    /// history.
    #[serde(default)]
    pub failed: u64,
}

impl Totals {
    /// One more job ended in this state.
    pub fn count(&mut self, ended: State) {
        match ended {
            State::Dead => self.dead += 1,
            State::Cancelled => self.cancelled += 1,
            State::Pending | State::Running | State::Completed => self.completed += 1,
        }
    }

    /// The totals of `ended` jobs: `dead` died, `cancelled` were cancelled, and the others were
    /// completed.
    pub fn of_ends(ended: u64, dead: u64, cancelled: u64) -> Self {
        let completed = ended.saturating_sub(dead + cancelled);
        Self { completed, dead, cancelled, ..Self::default() }
    }

    /// What was added since these. If one of them is larger, the queue was removed and created
    /// again in between, and all has been added since.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let added: Option<Vec<_>> = self
            .numbers()
            .into_iter()
            .zip(before.numbers())
            .map(|(now, before)| now.checked_sub(before))
            .collect();
        added.and_then(|added| Self::from_numbers(&added)).unwrap_or(*self)
    }

    /// Every number, in an order that never changes.
    pub fn numbers(&self) -> [u64; 5] {
        let Self { completed, dead, cancelled, enqueued, failed } = *self;
        [enqueued, completed, failed, dead, cancelled]
    }

    /// Reads what [`numbers`](Self::numbers) gave; none if there are more or fewer.
    pub fn from_numbers(numbers: &[u64]) -> Option<Self> {
        let &[enqueued, completed, failed, dead, cancelled] = numbers else { return None };
        Some(Self { completed, dead, cancelled, enqueued, failed })
    }
}

/// Jobs by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([Count; Status::ALL.len()]);

impl Counts {
    /// The number of jobs with this status.
    pub fn get(&self, status: Status) -> Count {
        self.0[status as usize]
    }

    /// Sets the number of jobs with this status.
    pub fn set(&mut self, status: Status, count: Count) {
        self.0[status as usize] = count;
    }

    /// The number of jobs in this stored state.
    pub fn of_state(&self, state: State) -> Count {
        let parts = state.statuses().iter().map(|status| self.get(status));
        parts.fold(Count::exact(0), |sum, part| Count {
            value: sum.value + part.value,
            exact: sum.exact && part.exact,
        })
    }

    /// Every status and its number.
    pub fn iter(&self) -> impl Iterator<Item = (Status, Count)> {
        Status::ALL.into_iter().zip(self.0)
    }
}
