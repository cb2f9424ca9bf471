//! How things were an hour ago: what [`Client::history`](crate::Client::history) takes and answers.
//!
//! ```
//! use queuekit::history::{HistoryQuery, Resolution};
//! use queuekit::{Client, Timestamp, memory::MemoryStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> queuekit::Result<()> {
//! # let client = Client::new(MemoryStore::new());
//! let (from, to) = (Timestamp::from_millis(0), Timestamp::from_millis(i64::MAX));
//! let query = HistoryQuery::new(Resolution::Hour, from, to);
//! for row in client.history().runs(&query).await? {
//!     println!("{} {}: {} completed", row.at.as_millis(), row.queue, row.runs.completed);
//! }
//! # Ok(())
//! # }
//! ```

#[doc(inline)]
pub use queuekit_core::client::History;
#[doc(inline)]
pub use queuekit_core::history::{
    Histogram, HistoryPlace, HistoryQuery, Rate, Resolution, Runs, RunsRow, TotalsRow, rates,
};
