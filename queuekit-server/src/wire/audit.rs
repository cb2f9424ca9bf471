//! Which entries of the audit log are asked for, and entries in answers.

use queuekit::store::capability::AuditEntry;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Time;

/// Which entries.
#[derive(Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditQuery {
    /// Only entries with a lower number: the `before` of the page before.
    pub(crate) before: Option<u64>,
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub(crate) limit: Option<usize>,
}

/// A page of the audit log.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Audit, bound = "")]
pub(crate) struct AuditBody<T = AuditEntryBody> {
    #[schema(value_type = Vec<AuditEntryBody>)]
    pub(crate) entries: Vec<T>,
    /// Where the next page begins; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) before: Option<u64>,
}

/// A change by an operator.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = AuditEntry)]
pub(crate) struct AuditEntryBody {
    /// Rises from entry to entry.
    pub(crate) seq: u64,
    /// When the entry was made.
    pub(crate) at: Time,
    /// The id of the API key, `account@host` for a command on the store, or `-` on a server without
    /// keys.
    pub(crate) who: String,
    /// What was done, such as `configure` or `bulk retry`.
    pub(crate) action: String,
    /// What it was done to: its type and name, and what was asked for.
    pub(crate) target: String,
    /// Jobs that the filter of a bulk action matched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) matched: Option<u64>,
    /// Jobs that a bulk action changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) changed: Option<u64>,
    /// `done`, the outcome of an action on a job, or the kind of the problem.
    pub(crate) outcome: String,
}

impl AuditEntryBody {
    pub(crate) fn of(entry: AuditEntry) -> Self {
        let AuditEntry { seq, at, act } = entry;
        Self {
            seq,
            at: Time(at),
            who: act.who,
            action: act.action,
            target: act.target,
            matched: act.matched,
            changed: act.changed,
            outcome: act.outcome,
        }
    }
}
