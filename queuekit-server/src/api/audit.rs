//! Who changed what, and what came of it (S14).

use std::fmt::Display;

use crate::http::{Caller, Problem};

/// Logs that this caller did this to that, when it is known how it ended.
pub(super) fn audit(caller: &Caller, action: &str, target: impl Display, outcome: &str) {
    tracing::info!(target: "queuekit::audit", key = caller.id(), action, on = %target, outcome);
}

/// The same of what is done or refused.
pub(super) fn audited<T>(
    caller: &Caller,
    action: &str,
    target: impl Display,
    answer: Result<T, Problem>,
) -> Result<T, Problem> {
    audit(caller, action, target, answer.as_ref().map_or_else(Problem::kind, |_| "done"));
    answer
}
