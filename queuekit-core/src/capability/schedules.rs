//! What a store keeps of schedules: rows that change by compare-and-set, together with the jobs
//! that are enqueued for them. The module [`schedule`](crate::schedule) decides which jobs.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::backend::AnswerBytes;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::job::NewJob;
use crate::names::ScheduleName;

/// Schedules that every process may tick (contract R15). Applications use
/// [`Scheduler`](crate::schedule::Scheduler).
#[async_trait]
pub trait Schedules: Debug + Send + Sync {
    /// The rows asked for, as many as fit into an answer (contract R8.9), and the store's clock as
    /// they are read.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn find_schedules(&self, query: &ScheduleQuery) -> Result<ScheduleRows>;

    /// Changes a row if it is still the one that the caller has read, and enqueues these jobs: both
    /// or neither, and once, however often and wherever it is called (R15.2). Jobs that are stored
    /// already do not change.
    ///
    /// # Errors
    /// `Invalid` if there would be too many schedules or queues, or if a job is too large;
    /// `Unavailable`, `Indeterminate`, `Closed`.
    async fn change_schedule(&self, change: &ScheduleChange) -> Result<ScheduleChanged>;
}

/// Which rows to read.
// Exhaustive: a store has to act on each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleQuery {
    /// The schedule of this name.
    Named(ScheduleName),
    /// Schedules by name, from the first after this name, at most this number.
    After(Option<ScheduleName>, usize),
    /// Schedules whose next time has come, by that time and then by name, from the first after this
    /// place, at most this number.
    Due(Option<(Timestamp, ScheduleName)>, usize),
}

impl ScheduleQuery {
    /// The most rows that it asks for.
    pub fn limit(&self) -> usize {
        match self {
            Self::Named(_) => 1,
            Self::After(_, limit) | Self::Due(_, limit) => *limit,
        }
    }

    /// The query for the rows behind one of this name and next time.
    #[must_use]
    pub fn behind(&self, name: &ScheduleName, next_at: Option<Timestamp>) -> Self {
        match self {
            Self::Due(_, limit) => Self::Due(next_at.map(|at| (at, name.clone())), *limit),
            Self::Named(_) => Self::Named(name.clone()),
            Self::After(_, limit) => Self::After(Some(name.clone()), *limit),
        }
    }
}

/// Rows as they were at one instant.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduleRows {
    /// That instant.
    pub now: Timestamp,
    /// The rows, in the order of the query.
    pub rows: Vec<ScheduleRow>,
    /// The query that continues behind these rows; none if there are no more.
    pub next: Option<ScheduleQuery>,
    /// The time until the next schedule is due, among those that are not; set if the query asks for
    /// due ones.
    pub next_due_in: Option<Duration>,
}

impl ScheduleRows {
    /// Takes the next row in the order of the query. False if it is beyond the limit or the bytes
    /// of an answer: it and those behind it are left to the next query.
    pub fn take(
        &mut self,
        query: &ScheduleQuery,
        bytes: &mut AnswerBytes,
        row: ScheduleRow,
    ) -> bool {
        let fits = self.rows.len() < query.limit() && bytes.admit(row.bytes());
        match fits {
            true => self.rows.push(row),
            false => self.end(query),
        }
        fits
    }

    /// Notes that there are more rows than these.
    pub fn end(&mut self, query: &ScheduleQuery) {
        let last = self.rows.last();
        self.next = last.map(|last| query.behind(&last.name, last.next_at));
    }
}

/// One schedule; a store reads only its name, its revision and its next time.
// Exhaustive: what else a schedule has is in its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleRow {
    /// Its name.
    pub name: ScheduleName,
    /// Its revision, new after each change, also if the schedule was removed and created again.
    pub revision: u64,
    /// Its next time, if it has one.
    pub next_at: Option<Timestamp>,
    /// The rest of the schedule, which the store does not read.
    pub body: Bytes,
}

impl ScheduleRow {
    /// The bytes that count towards those of an answer (contract R8.9).
    pub fn bytes(&self) -> usize {
        self.body.len()
    }
}

/// A change of one row.
// Exhaustive: a store that ignores a part of it must not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleChange {
    /// Its name.
    pub name: ScheduleName,
    /// The revision that the caller has read; none if there was no such row.
    pub seen: Option<u64>,
    /// The new next time and body; none removes the row.
    pub to: Option<(Option<Timestamp>, Bytes)>,
    /// The jobs to enqueue in the same step, all in one queue.
    pub jobs: Vec<NewJob>,
}

/// The outcome of a change.
// Exhaustive: the scheduler has to act on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum ScheduleChanged {
    /// It took effect.
    Changed,
    /// Another process has changed the row: nothing took effect.
    Stale,
    /// The queue of the jobs is at its `max_pending`: nothing took effect.
    QueueFull {
        /// How long to wait before trying again.
        retry_after: Duration,
    },
}
