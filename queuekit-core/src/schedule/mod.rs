//! Schedules: jobs at the times of a cron expression, or every so often (contract R15).
//!
//! A schedule is a row of the store, and everything that is decided about it is decided here. Who
//! ticks reads the rows that are due, finds out which occurrences run ([`owed`]), and asks the
//! store to move the row on and enqueue their jobs in one step, if the row is still the one that
//! was read. So any number of processes may tick, and each occurrence exists once; there is no
//! leader.

mod cron;
mod definition;
mod occurrences;
mod scheduler;
mod stored;
mod template;
mod tick;
mod timing;

pub use cron::Cron;
pub use definition::{Definition, ScheduleDraft};
pub use occurrences::{CatchUp, Overlap, Term, owed};
pub use scheduler::{ScheduleEntry, Scheduler};
pub use stored::{Occurrence, Schedule};
pub use template::{JobTemplate, NOMINAL_MS, SCHEDULE};
pub use tick::{Ticked, tick};
pub use timing::{Interval, Timing};
