//! The worker of queuekit: fetch, execute, settle, heartbeat, drain, over any store.
//!
//! - [`Worker`] describes a worker and runs it; [`RunningWorker`] is one that runs.
//! - [`Handler`] is what runs a job: an async function of a payload and a [`Ctx`].
//! - [`JobError`] says what becomes of a job whose run did not succeed.
//! - [`Caretaker`] is for processes that run no jobs: it does what a worker does beside them.
//! - [`Middleware`] wraps every run, [`Hooks`] are told what happens to it.
//!
//! ```
//! use queuekit_core::memory::MemoryStore;
//! use queuekit_core::{Client, Payload};
//! use queuekit_worker::{Ctx, JobResult, Worker};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Greet {
//!     name: String,
//! }
//!
//! impl Payload for Greet {
//!     const KIND: &'static str = "greet";
//! }
//!
//! async fn greet(job: Greet, _ctx: Ctx) -> JobResult<String> {
//!     Ok(format!("Hello, {}!", job.name))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> queuekit_core::Result<()> {
//! let client = Client::new(MemoryStore::new());
//! let id = client.enqueue(Greet { name: "Ada".into() }).await?;
//! let summary = Worker::new(client.clone()).handle(greet).run_until_idle().await?;
//! assert_eq!(summary.completed, 1);
//! let job = client.jobs().get(id).await?;
//! assert_eq!(job.and_then(|job| job.result).as_deref(), Some(&b"\"Hello, Ada!\""[..]));
//! # Ok(())
//! # }
//! ```
//!
//! A job runs at least once. While its handler runs, its lease is extended from a thread that no
//! handler can block; when the process dies, another worker takes the job over as soon as the
//! lease has run out. Outcomes are told to the store until it answers.

mod caretaker;
mod consume;
mod ctx;
mod ending;
mod execute;
mod fetch;
mod flights;
mod handler;
mod heartbeat;
mod hooks;
mod inbox;
mod job_error;
mod kinds;
mod middleware;
mod notices;
mod pump;
mod registry;
mod reports;
mod run;
mod running;
mod schedules;
mod serving;
mod settle;
mod shared;
#[cfg(feature = "signal")]
mod signal;
mod snapshot;
mod state;
mod summary;
mod upkeep;
mod verdict;
mod wakeups;
mod worker;

pub use caretaker::Caretaker;
pub use ctx::Ctx;
pub use futures_util::future::BoxFuture;
pub use handler::{Handler, RawHandler};
pub use hooks::{Hooks, Outcome};
pub use job_error::{JobError, JobResult};
pub use kinds::KindOptions;
pub use middleware::{Middleware, Next};
pub use queuekit_core::Bytes;
pub use running::RunningWorker;
pub use snapshot::{RunningJob, WorkerSnapshot, WorkerState};
pub use summary::RunSummary;
pub use tokio_util::sync::CancellationToken;
pub use worker::Worker;
