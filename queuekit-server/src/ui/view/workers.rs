//! Workers.

use askama::Template;

use super::{Action, Ms, Shell, When, parts};

/// The page `/ui/workers`.
#[derive(Clone, Debug, Template)]
#[template(path = "workers.html")]
pub(crate) struct Workers {
    pub(crate) shell: Shell,
    pub(crate) table: WorkerTable,
    /// Orders to all workers.
    pub(crate) actions: Vec<Action>,
}

/// Workers, each with what it runs.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/worker_table.html")]
pub(crate) struct WorkerTable {
    pub(crate) base: String,
    /// Whether a row shows its jobs and orders.
    pub(crate) is_whole: bool,
    pub(crate) rows: Vec<WorkerRow>,
}

/// A worker.
#[derive(Clone, Debug)]
pub(crate) struct WorkerRow {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Empty if it does not tell.
    pub(crate) host: String,
    pub(crate) pid: Option<u32>,
    pub(crate) version: String,
    pub(crate) started: Option<When>,
    /// Time since its last beat.
    pub(crate) seen: Ms,
    /// Whether its last beat is older than it should be.
    pub(crate) is_late: bool,
    pub(crate) queues: Vec<String>,
    pub(crate) more_queues: bool,
    pub(crate) kinds: Vec<String>,
    pub(crate) more_kinds: bool,
    pub(crate) slots: u32,
    pub(crate) running: u32,
    /// What it was ordered and has not obeyed yet: `quiet, 3 slots`.
    pub(crate) ordered: Option<String>,
    pub(crate) jobs: Vec<WorkerJob>,
    pub(crate) actions: Vec<Action>,
}

/// A job that it runs.
#[derive(Clone, Debug)]
pub(crate) struct WorkerJob {
    pub(crate) id: String,
    pub(crate) kind: String,
    /// For how long it has run.
    pub(crate) ran: Ms,
}

parts!(WorkerTable);

impl WorkerJob {
    pub(crate) fn short_id(&self) -> String {
        super::short_id(&self.id)
    }
}
