//! Jobs: storing, reading, and what an operator does with them.

pub(super) mod actions;
pub(super) mod bulk;
pub(super) mod checkpoints;
pub(super) mod create_job;
pub(super) mod enqueue;
pub(super) mod list;
