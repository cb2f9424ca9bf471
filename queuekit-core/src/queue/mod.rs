//! Queues: their settings, their figures, their health.

mod ends;
mod health;
mod settings;
mod stats;

pub use ends::Ends;
pub use health::{Health, HealthInput, health};
pub use settings::{Keep, KeyOnDead, KeyOnWait, Order, QueuePatch, QueueSettings, Retention};
pub use stats::{Count, Counts, Queue, Totals};
