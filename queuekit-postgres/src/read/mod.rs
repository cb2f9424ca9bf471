//! Reading jobs and queues. Reads run in transactions that see one instant, and change nothing.

mod entries;
mod figures;
mod last_errors;
mod listing;
mod recent;
mod status;
mod view;
mod why;
mod workers;

pub(crate) use figures::{find_queues, list_queues};
pub(crate) use listing::{jobs, position};
pub(crate) use view::{job, job_states};
pub(crate) use why::why;
pub(crate) use workers::{any_worker, find_worker, list_workers, worker_counts};
