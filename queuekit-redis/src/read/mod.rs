//! Reading jobs and queues. Reads change nothing but what is derived.

mod figures;
mod listing;
mod position;
mod view;
mod why;
mod workers;

pub(crate) use workers::{StoredBeat, workers};
