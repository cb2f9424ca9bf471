//! The audit log.

use askama::Template;

use super::{Count, Mark, Pager, Shell, When};

/// The page `/ui/audit`.
#[derive(Clone, Debug, Template)]
#[template(path = "audit.html")]
pub(crate) struct Audit {
    pub(crate) shell: Shell,
    pub(crate) rows: Vec<AuditRow>,
    pub(crate) pager: Pager,
}

/// A change by an operator.
#[derive(Clone, Debug)]
pub(crate) struct AuditRow {
    pub(crate) at: When,
    pub(crate) actor: String,
    pub(crate) action: String,
    pub(crate) target: String,
    /// Address of the target, with the prefix, if it has a page.
    pub(crate) url: Option<String>,
    pub(crate) matched: Option<Count>,
    pub(crate) changed: Option<Count>,
    /// `ok` or `error`, with the outcome as its word.
    pub(crate) outcome: Mark,
}
