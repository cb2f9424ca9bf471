//! An item of the checklist, and what it looks at.

use queuekit::queues::Queue;
use queuekit::store::capability::{Durability, Fact};
use serde::Serialize;

use crate::config::Sources;

/// One line of the list; `docs/hardening.md` has the same lines.
pub(super) struct Item {
    pub(super) name: &'static str,
    /// What is wanted.
    pub(super) what: &'static str,
    /// Where it is set.
    pub(super) setting: &'static str,
    pub(super) look: fn(&Seen<'_>) -> State,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "why", rename_all = "snake_case")]
pub(super) enum State {
    Ok,
    /// Something is missing: what.
    ToDo(String),
    /// It cannot be checked from here: why, or how to check it.
    NotChecked(&'static str),
}

/// What this command can check: the settings as it reads them, and the store. It does not see the
/// flags of servers and workers.
pub(super) struct Seen<'a> {
    pub(super) sources: &'a Sources,
    /// URL of the store.
    pub(super) url: String,
    pub(super) durability: Option<Durability>,
    /// What the store says of itself; nothing if it does not answer.
    pub(super) facts: Vec<Fact>,
    pub(super) queues: Option<Vec<Queue>>,
}

impl<'a> Seen<'a> {
    /// The settings and the URL of the store, before the store is asked.
    pub(super) fn of(sources: &'a Sources, url: &str) -> Self {
        let url = url.to_owned();
        Self { sources, url, durability: None, facts: Vec::new(), queues: None }
    }
}
