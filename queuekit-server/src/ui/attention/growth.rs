//! Whether a backlog grows.

use std::fmt;

use queuekit::queues::Totals;

use crate::ui::view::Count;

/// How many more jobs were enqueued in a queue than ended, in the last minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Growth {
    jobs: i64,
    minutes: u64,
}

impl Growth {
    /// That of a queue whose totals rose by these in a number of minutes.
    pub(crate) fn of(change: Totals, minutes: u64) -> Self {
        let signed = |jobs| i64::try_from(jobs).unwrap_or(i64::MAX);
        let ended = change.completed.saturating_add(change.dead).saturating_add(change.cancelled);
        Self { jobs: signed(change.enqueued).saturating_sub(signed(ended)), minutes }
    }

    /// Whether more jobs ended than were enqueued.
    pub(super) fn shrinks(self) -> bool {
        self.jobs < 0
    }
}

/// `In the last 5 minutes, 1,200 more were enqueued than ended.`
impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = Count::exact(self.jobs.unsigned_abs());
        match self.minutes {
            1 => write!(f, "In the last minute, ")?,
            minutes => write!(f, "In the last {minutes} minutes, ")?,
        }
        match self.jobs {
            0 => write!(f, "as many were enqueued as ended."),
            1.. => write!(f, "{more} more were enqueued than ended."),
            _ => write!(f, "{more} more ended than were enqueued."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_enqueued_is_compared_with_all_that_ended() {
        let told = |enqueued| {
            let change = Totals { completed: 1200, dead: 1, cancelled: 2, enqueued, failed: 9 };
            let growth = Growth::of(change, 5);
            (growth.shrinks(), growth.to_string())
        };
        let minutes = |text: &str| format!("In the last 5 minutes, {text}.");
        assert_eq!(told(1203), (false, minutes("as many were enqueued as ended")));
        assert_eq!(told(2403), (false, minutes("1,200 more were enqueued than ended")));
        assert_eq!(told(1202), (true, minutes("1 more ended than were enqueued")));
    }
}
