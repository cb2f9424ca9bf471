//! The cases, by subject. Each is named by its rule and says which guard it protects.

pub mod enqueue;
pub mod fence;
pub mod flush;
pub mod guarantees;
pub mod idempotency;
pub mod leases;
pub mod limits;
pub mod nack;
pub mod queue_full;
pub mod states;
pub mod transitions;
