//! The store in this process, for tests: a clock that is moved by hand, and faults on demand.
//!
//! ```
//! use std::time::Duration;
//! use queuekit::memory::{ManualClock, MemoryStore};
//! use queuekit::{Client, JobDraft, Status};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> queuekit::Result<()> {
//! let clock = ManualClock::default();
//! let client = Client::new(MemoryStore::with_clock(clock.clone()));
//! let id = client.enqueue(JobDraft::new("report", "{}")).delay(Duration::from_secs(60)).await?;
//! clock.advance(Duration::from_secs(60));
//! assert_eq!(client.jobs().get(id).await?.map(|job| job.status), Some(Status::Ready));
//! # Ok(())
//! # }
//! ```

#[doc(inline)]
pub use queuekit_core::memory::tx::MemoryTransaction;
#[doc(inline)]
pub use queuekit_core::memory::{Faults, MemoryStore, Operation, When};
#[doc(inline)]
pub use queuekit_core::{Clock, ManualClock, OffsetClock};
