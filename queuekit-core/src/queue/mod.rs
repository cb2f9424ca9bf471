//! Queues: their settings, their figures, their health.

mod ends;
mod health;
mod json;
mod patch;
mod policy;
mod removal;
mod retention;
mod scale;
mod serving;
mod settings;
mod stats;
mod stored_settings;

pub use ends::Ends;
pub use health::{Health, HealthInput, health};
pub use patch::QueuePatch;
pub use policy::{KeyOnDead, KeyOnWait, Order};
pub use removal::{admit_removal, in_use};
pub use retention::{Keep, Retention};
pub use scale::Scale;
pub use serving::WorkerCounts;
pub use settings::QueueSettings;
pub use stats::{Count, Counts, Queue, Totals};
