//! Queues: their settings, their figures, their health.

mod health;
mod settings;
mod stats;

pub use health::{Health, HealthInput, health};
pub use settings::{Keep, KeyOnDead, KeyOnWait, Order, QueuePatch, QueueSettings, Retention};
pub use stats::{Count, Counts, Queue};
