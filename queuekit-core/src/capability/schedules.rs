//! What a store keeps of schedules: rows that change by compare-and-set, together with the jobs
//! that are enqueued for them. Which these are is for [`schedule`](crate::schedule) to say.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::clock::Timestamp;
use crate::error::Result;
use crate::job::NewJob;
use crate::names::ScheduleName;

/// Schedules that every process may tick (contract R15). Applications use
/// [`Scheduler`](crate::schedule::Scheduler).
#[async_trait]
pub trait Schedules: Debug + Send + Sync {
    /// The rows asked for, and the store's clock as they are read.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn find_schedules(&self, query: &ScheduleQuery) -> Result<ScheduleRows>;

    /// Changes a row if it is still what the caller has seen, and enqueues these jobs: both or
    /// neither, and once, however often and from wherever it is called (R15.2). Jobs that are
    /// stored already are left as they are.
    ///
    /// # Errors
    /// `Invalid` if there would be too many schedules or queues, or if a job is too large;
    /// `Unavailable`, `Indeterminate`, `Closed`.
    async fn change_schedule(&self, change: &ScheduleChange) -> Result<ScheduleChanged>;
}

/// Which rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleQuery {
    /// The one of this name.
    Named(ScheduleName),
    /// By name, from the first one after this, at most so many.
    After(Option<ScheduleName>, usize),
    /// Those whose next time has come, the earliest first, at most so many.
    Due(usize),
}

/// Rows as they were at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduleRows {
    /// That instant.
    pub now: Timestamp,
    /// In the order asked for.
    pub rows: Vec<ScheduleRow>,
    /// Of all that are not due, the time to the next one; told if due ones were asked for.
    pub next_due_in: Option<Duration>,
}

/// One schedule, of which a store reads no more than its next time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleRow {
    /// Its name.
    pub name: ScheduleName,
    /// Another one after each change, also of a schedule that was removed and made again.
    pub revision: u64,
    /// When it is due, if it is to be.
    pub next_at: Option<Timestamp>,
    /// The rest.
    pub body: Bytes,
}

/// A change of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleChange {
    /// Its name.
    pub name: ScheduleName,
    /// The revision the caller has seen; none if there was no such row.
    pub seen: Option<u64>,
    /// The next time and the rest from now on; none removes the row.
    pub to: Option<(Option<Timestamp>, Bytes)>,
    /// Jobs to enqueue in the same step, all of one queue.
    pub jobs: Vec<NewJob>,
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum ScheduleChanged {
    /// It took effect.
    Changed,
    /// Somebody else has changed the row: nothing took effect.
    Stale,
    /// The queue of the jobs is at its `max_pending`: nothing took effect.
    QueueFull {
        /// How long to wait before trying again.
        retry_after: Duration,
    },
}
