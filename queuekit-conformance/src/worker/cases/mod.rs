//! The cases, by subject.

pub(super) mod batches;
pub(super) mod checkpoints;
pub(super) mod ends;
pub(super) mod hints;
pub(super) mod leases;
pub(super) mod orders;
pub(super) mod outcomes;
pub(super) mod quiet;
pub(super) mod schedules;
pub(super) mod slots;
pub(super) mod undecodable;
pub(super) mod waits;
