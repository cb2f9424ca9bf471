//! Reading jobs and queues. Reads change derived data only.

mod figures;
mod listing;
mod position;
mod queue_of_job;
mod recent;
mod states;
mod view;
mod why;
mod workers;

pub(crate) use workers::{StoredBeat, find_worker, list_workers};
use workers::{any_worker, worker_counts};
