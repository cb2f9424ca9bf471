//! The worker of queuekit: fetch, execute, settle, heartbeat, drain, over any store.
//!
//! - [`Worker`] describes a worker and runs it; [`RunningWorker`] is one that runs.
//! - [`Handler`] runs a job: an async function of a payload and a [`Ctx`]. [`BatchHandler`] runs
//!   several jobs in one call.
//! - [`JobError`] says what happens to a job whose run did not succeed.
//! - [`Caretaker`] runs upkeep and schedules in processes that run no jobs.
//! - [`Middleware`] wraps every run, [`Hooks`] observe it.
//!
//! ```
//! use queuekit::memory::MemoryStore;
//! use queuekit::{Client, Ctx, JobResult, Payload, Worker};
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
//! # async fn main() -> queuekit::Result<()> {
//! let client = Client::new(MemoryStore::new());
//! let id = client.enqueue(Greet { name: "Ada".into() }).await?;
//! let summary = Worker::new(client.clone()).handle(greet).run_until_idle().await?;
//! assert_eq!(summary.completed, 1);
//! let greeting: String = client.jobs().wait(id).await?.result()?;
//! assert_eq!(greeting, "Hello, Ada!");
//! # Ok(())
//! # }
//! ```
//!
//! A job runs at least once. While its handler runs, its lease is extended from a thread that no
//! handler can block. If the process dies, another worker takes the job over as soon as the lease
//! has expired. The worker repeats outcomes until the store has answered.

mod build;
mod handler;
mod heartbeat;
mod housekeeping;
mod main_loop;
mod run;
mod state;

pub use build::running::RunningWorker;
pub use build::worker::Worker;
pub use futures_util::future::BoxFuture;
pub use handler::batch::{BatchHandler, BatchOptions, BatchOutput};
pub use handler::handler::{Handler, RawHandler};
pub use handler::hooks::Hooks;
pub use handler::middleware::{Middleware, Next};
#[cfg(feature = "tower")]
pub use handler::tower::{JobRequest, JobService, RunFailed};
pub use housekeeping::caretaker::Caretaker;
pub use queuekit_core::Bytes;
pub use run::ctx::Ctx;
pub use run::job_error::{JobError, JobResult};
pub use run::options::KindOptions;
pub use run::outcome::Outcome;
pub use state::health::{HealthProbe, WorkerHealth};
pub use state::snapshot::{RunningJob, WorkerSnapshot, WorkerState};
pub use state::summary::RunSummary;
pub use tokio_util::sync::CancellationToken;
