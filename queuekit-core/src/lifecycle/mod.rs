//! The life of a job: one table of transitions and the pure rules that pick among them.
//!
//! Stores write these rules as one `CASE` (SQL) or one `if` (Lua); the memory store calls them.

mod transition;
mod verdict;

pub use transition::Transition;
pub use verdict::{bury, cancel, delete, expired, nack, nack_outcome, retry, waiting_status};
