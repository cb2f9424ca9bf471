//! The life of a job: one table of transitions and the pure rules that pick among them.
//!
//! Stores write these rules as one `CASE` (SQL) or one `if` (Lua). A store that keeps a job as one
//! value, such as the memory store, keeps a [`Record`], which has them all.

mod budget;
mod changes;
mod checkpoint;
mod park;
mod record;
mod stored;
mod transition;
mod verdict;

pub use budget::Budget;
pub use changes::LEASE_EXPIRED;
pub use checkpoint::{Held, checkpoint};
pub use park::park;
pub use record::Record;
pub use transition::Transition;
pub use verdict::{
    cancel, dead_letter, delete, expired, nack, nack_outcome, retry, waiting_status,
};
