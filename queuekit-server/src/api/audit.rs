//! Who changed what, and what came of it (S14).

use std::fmt::Display;

use serde::Serialize;

use crate::http::{Caller, Problem};

/// Logs that this caller did this to that, when it is known how it ended.
pub(super) fn audit(caller: &Caller, action: &str, target: impl Display, outcome: &str) {
    let (key, peer, on) = (caller.id(), caller.peer(), target.to_string());
    tracing::info!(target: "queuekit::audit", key, peer, action, on, outcome);
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

/// What was asked for, as it was written: filters and settings, never a payload.
pub(super) fn json(asked: &impl Serialize) -> String {
    serde_json::to_string(asked).unwrap_or_default()
}
