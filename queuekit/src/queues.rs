//! Queues: their settings and figures, which [`Client::queues`](crate::Client::queues) takes and
//! answers.
//!
//! ```
//! use std::time::Duration;
//! use queuekit::queues::{Keep, QueuePatch};
//! use queuekit::{Client, memory::MemoryStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> queuekit::Result<()> {
//! let client = Client::new(MemoryStore::new());
//! let patch = QueuePatch::default().max_pending(10_000).dedup_window(Duration::from_secs(60));
//! let settings = client.queues().configure("emails", &patch).await?;
//! assert_eq!(settings.max_pending, Some(10_000));
//! # Ok(())
//! # }
//! ```

#[doc(inline)]
pub use queuekit_core::QueuePage;
#[doc(inline)]
pub use queuekit_core::client::Queues;
#[doc(inline)]
pub use queuekit_core::queue::{
    Count, Counts, Health, Keep, KeyOnDead, KeyOnWait, Order, Queue, QueuePatch, QueueSettings,
    Retention, Scale, Totals, WorkerCounts,
};
