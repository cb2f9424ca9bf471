//! Schedules.

use askama::Template;

use super::{Action, Content, Count, Dots, Facts, Shell, When};

/// The page `/ui/schedules`.
#[derive(Clone, Debug, Template)]
#[template(path = "schedules.html")]
pub(crate) struct Schedules {
    pub(crate) shell: Shell,
    pub(crate) rows: Vec<ScheduleRow>,
    /// Address of the next page, with the prefix.
    pub(crate) more: Option<String>,
}

/// A schedule.
#[derive(Clone, Debug)]
pub(crate) struct ScheduleRow {
    pub(crate) name: String,
    /// With the prefix.
    pub(crate) url: String,
    /// `30 2 * * *` or `every 5m`
    pub(crate) timing: String,
    pub(crate) zone: String,
    /// The times in words.
    pub(crate) words: String,
    pub(crate) kind: String,
    pub(crate) queue: String,
    pub(crate) is_paused: bool,
    /// Whether an operator has changed what the code declares.
    pub(crate) differs_from_code: bool,
    /// Whether an occurrence is due for more than a minute and not enqueued.
    pub(crate) is_late: bool,
    pub(crate) next: Option<When>,
    /// The last occurrence that was enqueued.
    pub(crate) last: Option<When>,
    pub(crate) enqueued: Count,
    /// Occurrences that enqueued no job: missed, or skipped because of overlap.
    pub(crate) skipped: Count,
    /// The last jobs, oldest first.
    pub(crate) dots: Dots,
    /// Why the stored schedule cannot be read.
    pub(crate) error: Option<String>,
}

/// The page `/ui/schedules/NAME`.
#[derive(Clone, Debug, Template)]
#[template(path = "schedule.html")]
pub(crate) struct SchedulePage {
    pub(crate) shell: Shell,
    pub(crate) row: ScheduleRow,
    /// The next five, each in the zone of the schedule: `Fri 27 Nov 02:30`.
    pub(crate) next: Vec<(String, When)>,
    pub(crate) facts: Facts,
    pub(crate) payload: Content,
    pub(crate) actions: Vec<Action>,
    pub(crate) form: ScheduleForm,
    pub(crate) cli: String,
}

/// The form that changes a schedule.
#[derive(Clone, Debug)]
pub(crate) struct ScheduleForm {
    /// With the prefix.
    pub(crate) url: String,
    /// `30 2 * * *` or `every 5m`
    pub(crate) timing: String,
    pub(crate) zone: String,
    /// None if it cannot be changed in a form, or is hidden.
    pub(crate) payload: Option<String>,
    pub(crate) impossible: Option<String>,
    /// Why the last change was refused.
    pub(crate) error: Option<String>,
    pub(crate) cli: String,
}
