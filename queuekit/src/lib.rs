//! Durable background jobs for Rust: one contract over several stores.
//!
//! # Overview
//!
//! A job is a payload with a kind. [`connect`] opens the store at a URL, [`Client::enqueue`] stores
//! a job in it, and a [`Worker`] calls the [`Handler`] of its kind, in this process or in another.
//! Only the URL depends on the store.
//!
//! - Jobs have [priorities](JobDraft::priority), [delays](JobDraft::delay),
//!   [deadlines](JobDraft::deadline), [idempotency keys](JobDraft::idempotency_key) and
//!   [partition keys](JobDraft::partition_key), which run in order.
//! - A failed job runs again as its [`RetryPolicy`] says. A job that keeps failing becomes a dead
//!   letter: it is kept with its errors until you [retry](Client::jobs) or delete it.
//! - [Schedules](Client::schedule) enqueue a job by a cron expression in any time zone, or at an
//!   interval. Each occurrence is enqueued once, however many processes run.
//! - [Events](Client::emit) are delivered to every subscribed consumer, each with its own retries,
//!   dead letters and order. In SQLite and Postgres you can emit them in your own transaction.
//! - [`Client::jobs`] lists, cancels and retries jobs and says why one is not running;
//!   [`Client::queues`] pauses and configures queues, [`Client::workers`] gives orders to workers,
//!   and [`Client::error_groups`] says what fails, and retries it.
//! - With SQLite and Postgres you can enqueue a job
//!   [in your own transaction](sqlite::SqliteStore::enqueue_in): it exists if and only if the
//!   transaction commits.
//! - [`memory::MemoryStore`] is for tests of handlers: you move its clock by hand, and cause
//!   [faults](memory::MemoryStore::faults) on demand.
//!
//! # Guarantees
//!
//! They are the same on every store. `docs/semantics.md` has the whole contract, rule by rule, and
//! the suite `queuekit-conformance` checks every store against it.
//!
//! - **At least once.** After `enqueue` has returned `Ok`, the job is stored until it ends as
//!   completed, dead or cancelled; it is never lost. Which failures a successful call survives
//!   depends on the store: in an SQLite file, power loss (with `synchronous=normal`, only a crash
//!   of the process); in Postgres and Redis, what the server is configured for; in memory, nothing.
//! - **One holder at a time.** A worker leases a job for a while, and extends the lease while the
//!   handler runs. A job never has two live leases, and a worker that has lost its lease can no
//!   longer record an outcome: every outcome is fenced.
//! - **Attempts are bounded.** The store counts an attempt when it grants the lease, so a job that
//!   kills its process is dead-lettered in the end.
//! - **Nothing runs early**, and no transition needs a timer: there is no leader and no scheduler
//!   process, so no single crash stops the queue.
//!
//! A handler can run twice for one job, if its process dies before the outcome is recorded. So
//! write handlers to be idempotent; the example `testing` shows how to prove it.
//!
//! # Example
//!
//! When `enqueue` returns, the job is stored in the file `jobs.db`, and survives a restart of the
//! program.
//!
#![cfg_attr(all(feature = "derive", feature = "sqlite", feature = "worker"), doc = "```no_run")]
#![cfg_attr(
    not(all(feature = "derive", feature = "sqlite", feature = "worker")),
    doc = "```ignore"
)]
//! use queuekit::prelude::*;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Payload)]
//! #[payload(kind = "greet")]
//! struct Greet { name: String }
//!
//! async fn greet(job: Greet, _ctx: Ctx) -> JobResult {
//!     println!("Hello, {}!", job.name);
//!     Ok(())
//! }
//!
//! #[tokio::main]
//! async fn main() -> queuekit::Result<()> {
//!     let client = queuekit::connect("sqlite://jobs.db").await?;
//!     client.enqueue(Greet { name: "Ada".into() }).await?;
//!     Worker::new(client).handle(greet).run_until_idle().await?;
//!     Ok(())
//! }
//! ```
//!
//! # Where things are
//!
//! The root has the types that most programs name, and `use queuekit::prelude::*` brings the most
//! common ones into scope. The handles that [`Client::jobs`], [`Client::queues`] and so on return
//! each have a module of their name, with the types that their methods take and return: [`jobs`],
//! [`queues`], [`schedules`], [`events`], [`workers`], [`error_groups`], [`history`], [`audit`] and
//! [`inspect`]. [`memory`] is for tests, and [`store`] is for authors of stores.
//!
//! # Features
//!
//! All are additive, and each works alone.
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `derive` | yes | the macro [`#[derive(Payload)]`](macro@Payload) |
//! | `sqlite` | no | `connect("sqlite://jobs.db")`: a store in a file; SQLite itself is compiled in |
//! | `postgres` | no | `connect("postgres://localhost/app")`: a store in a Postgres database |
//! | `redis` | no | `connect("redis://localhost")`: a store in a Redis or Valkey server |
//! | `memory` | yes | `connect("memory:")`: a store that ends with the process |
//! | `worker` | yes | [`Worker`], [`Handler`] and their types; workers also run schedules |
//! | `signal` | yes | `worker`, and `run_until_signal`, which ends it at SIGINT or SIGTERM |
//! | `tower` | no | `worker`, and layers of tower around its handlers |
//! | `transactions` | no | [`transactions`]: jobs in transactions of sqlx, SeaORM and others |
//! | `openapi` | no | schemas for utoipa of jobs, queues and other types that are JSON |
//!
//! Schedules need no feature: every program can declare them, and every store keeps them.
//!
//! Without features, this crate has only the contract, for programs that bring their own store.
#![cfg_attr(
    not(all(feature = "sqlite", feature = "transactions", feature = "worker")),
    allow(rustdoc::broken_intra_doc_links, reason = "what the features add is not there")
)]

mod connect;
mod register;
mod store_url;

pub mod audit;
pub mod error_groups;
pub mod events;
pub mod history;
pub mod inspect;
pub mod jobs;
pub mod memory;
pub mod prelude;
pub mod queues;
pub mod schedules;
pub mod workers;

pub use connect::{connect, connect_unchecked, redacted};
/// What clients and workers record: each metric, its labels and its unit.
#[doc(inline)]
pub use queuekit_core::metrics;
/// For the code of `#[derive(Payload)]`.
#[doc(hidden)]
pub use queuekit_core::serde_json;
#[doc(inline)]
pub use queuekit_core::{
    Bytes, Client, Declared, EnqueueOutcome, Enqueued, Error, ErrorKind, Job, JobDraft, JobId,
    Metadata, NewJob, Payload, Priority, QueueName, Result, RetryPolicy, State, Status, Timestamp,
    TraceContext, UpgradeError,
};
#[cfg(feature = "derive")]
#[doc = include_str!("derive_payload.md")]
pub use queuekit_derive::Payload;
#[cfg(feature = "worker")]
#[doc(inline)]
pub use queuekit_worker::{
    BatchHandler, BatchOptions, CancellationToken, Ctx, Handler, JobError, JobResult, KindOptions,
    RunningWorker, Worker,
};
pub use register::{Opening, register};

/// The contract, for authors of stores and tools: [`Backend`](store::Backend) and its
/// [capabilities](store::capability), leases and [limits](store::limits). Applications find what
/// they need in the other modules.
pub use queuekit_core as store;
/// The store in a Postgres database: its settings, its calls in the application's own transactions,
/// and the version of `tokio-postgres` that these transactions must have.
#[cfg(feature = "postgres")]
#[doc(inline)]
pub use queuekit_postgres as postgres;
/// The store in a Redis server: its settings.
#[cfg(feature = "redis")]
#[doc(inline)]
pub use queuekit_redis as redis;
/// The store in an SQLite file: its settings, its calls in the application's own transactions, and
/// the version of `rusqlite` that these transactions must have.
#[cfg(feature = "sqlite")]
#[doc(inline)]
pub use queuekit_sqlite as sqlite;
#[cfg(feature = "transactions")]
#[doc(inline)]
pub use queuekit_transactions as transactions;
