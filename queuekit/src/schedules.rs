//! Schedules: jobs at the times of a cron expression or at an interval, which
//! [`Client::schedule`](crate::Client::schedule) declares and
//! [`Client::schedules`](crate::Client::schedules) manages.
//!
//! ```
//! use queuekit::schedules::{Overlap, ScheduleDraft};
//! use queuekit::{Client, JobDraft, memory::MemoryStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> queuekit::Result<()> {
//! let client = Client::new(MemoryStore::new());
//! let nightly = ScheduleDraft::cron("nightly", "30 2 * * *", JobDraft::new("report", "{}"));
//! client.schedule(nightly.zone("Europe/Berlin").overlap(Overlap::Skip)).await?;
//! assert_eq!(client.schedules().upcoming("nightly", 3).await?.len(), 3);
//! # Ok(())
//! # }
//! ```

#[doc(inline)]
pub use queuekit_core::ScheduleName;
#[doc(inline)]
pub use queuekit_core::schedule::{
    CatchUp, Cron, Definition, Interval, JobTemplate, Occurrence, Overlap, Schedule, ScheduleDraft,
    ScheduleEntry, SchedulePage, Scheduler, Term, Ticked, Timing,
};
