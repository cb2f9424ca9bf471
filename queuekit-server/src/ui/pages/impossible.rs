//! Why an action is impossible for jobs, by their statuses.

use queuekit::jobs::{BulkActionName, StatusSet};

/// None if a job in one of these statuses allows the action.
pub(super) fn why_impossible(action: BulkActionName, statuses: StatusSet) -> Option<String> {
    (!action.possible().meets(statuses)).then(|| reason(action).to_owned())
}

/// Which jobs allow the action.
pub(super) const fn reason(action: BulkActionName) -> &'static str {
    match action {
        BulkActionName::Retry => "Only a dead or cancelled job can be retried",
        BulkActionName::Cancel => "Only a job that has not ended can be cancelled",
        BulkActionName::Delete => "A running job cannot be deleted: cancel it first",
        BulkActionName::DeadLetter => "Only a job that waits can be dead-lettered",
        BulkActionName::Reschedule => "Only a job that waits can be rescheduled",
    }
}
