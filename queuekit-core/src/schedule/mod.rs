//! Schedules: jobs at the times of a cron expression or at an interval (contract R15).
//!
//! A schedule is a row of the store, and this module makes all decisions about it. A tick reads the
//! rows that are due and decides which occurrences run ([`owed`]). Then the store sets the row to
//! its next occurrence and enqueues the jobs in one step, if the row has not changed since it was
//! read. So any number of processes may tick, each occurrence is enqueued once, and there is no
//! leader.

mod cron;
mod cron_search;
mod definition;
mod occurrences;
mod scheduler;
mod stored;
mod template;
mod tick;
mod ticker;
mod timing;

pub use cron::Cron;
pub use definition::{Definition, ScheduleDraft};
pub use occurrences::{CatchUp, Overlap, Term, owed};
pub use scheduler::{ScheduleEntry, SchedulePage, Scheduler};
pub use stored::{Occurrence, Schedule};
pub use template::{JobTemplate, NOMINAL_MS, SCHEDULE};
pub use tick::Ticked;
pub use ticker::Ticker;
pub use timing::{Interval, Timing};
