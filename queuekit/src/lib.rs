//! Durable background jobs for Rust: one contract over several stores.
//!
//! # Overview
//!
//! A job is a payload with a kind. [`connect`] opens the store of a URL, [`Client::enqueue`] puts
//! a job into it, and a [`Worker`] calls the [`Handler`] of its kind, in this process or in
//! another. Nothing but the URL depends on the store.
//!
//! - Jobs have [priorities](JobDraft::priority), [delays](JobDraft::delay),
//!   [deadlines](JobDraft::deadline), [idempotency keys](JobDraft::idempotency_key) and
//!   [partition keys](JobDraft::partition_key), which run in order.
//! - A failed job runs again by its [`RetryPolicy`]; one that keeps failing becomes a dead letter,
//!   kept with its errors until somebody [retries](capability::Admin::retry) or deletes it.
//! - [Schedules](Client::schedule) enqueue a job by a cron expression in any time zone, or every so
//!   often: each occurrence once, however many processes run; every worker sees to it.
//! - [Events](Client::emit) are delivered to every consumer that wants them, with retries, dead
//!   letters and order of its own; in SQLite and Postgres they are emitted in the transaction that
//!   they tell of.
//! - [`Admin`](capability::Admin) pauses queues, cancels jobs, and says
//!   [why](capability::Admin::why) a job is not running.
//! - With SQLite and Postgres a job can be enqueued
//!   [inside a transaction](sqlite::SqliteStore::enqueue_in) of the application's own: it exists if
//!   and only if that commits.
//! - [`memory::MemoryStore`] is what handlers are tested with: a clock that is moved by hand, and
//!   [faults](memory::MemoryStore::faults) on demand.
//!
//! # Guarantees
//!
//! The same on every store; `docs/semantics.md` has the whole contract, rule by rule, and
//! `queuekit-integration-tests` is the suite that holds a store to it.
//!
//! - **At least once.** When `enqueue` has returned `Ok`, the job ends as completed, dead or
//!   cancelled, or is still stored; it is never lost. How much an `Ok` survives depends on
//!   the store: in an SQLite file it survives loss of power (with `synchronous=normal` the end of
//!   the process only), in Postgres what the database's own setting says, in Redis what its
//!   append-only file is set to, in memory nothing.
//! - **One holder at a time.** A job is leased for a while, and the lease is extended while the
//!   handler runs. Two leases of one job never live at once, and whoever has lost its lease
//!   changes nothing any more: every outcome is fenced.
//! - **Attempts are bounded.** The store counts an attempt when it grants the lease, so that a job
//!   that kills its process ends as a dead letter too.
//! - **Nothing runs early**, and time alone moves nothing: there is no leader and no timer process
//!   whose death would stop the queue.
//!
//! A handler can run twice for one job, when its process died before the outcome was recorded.
//! So handlers are written to be idempotent, and the example `testing` shows how to prove it.
//!
//! # Example
//!
//! What is enqueued is in the file `jobs.db` when `enqueue` returns, and is still there when the
//! program is started again.
//!
#![cfg_attr(all(feature = "sqlite", feature = "worker"), doc = "```no_run")]
#![cfg_attr(not(all(feature = "sqlite", feature = "worker")), doc = "```ignore")]
//! use queuekit::prelude::*;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Greet { name: String }
//! impl Payload for Greet { const KIND: &'static str = "greet"; }
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
//! # Features
//!
//! All are additive, and each works alone.
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `sqlite` | yes | `connect("sqlite://jobs.db")`: a store in a file; SQLite itself is compiled in |
//! | `postgres` | no | `connect("postgres://localhost/app")`: a store in a Postgres database |
//! | `redis` | no | `connect("redis://localhost")`: a store in a Redis or Valkey server |
//! | `memory` | yes | `connect("memory:")`: a store that lives and dies with the process |
//! | `worker` | yes | [`Worker`], [`Handler`] and what belongs to them; does what schedules say |
//! | `signal` | yes | `worker`, and ending it by SIGINT and SIGTERM |
//!
//! Schedules need no feature: declaring them is of the contract, and every store keeps them.
//!
//! Without features this is the contract alone: for processes that bring a store of their own.
#![cfg_attr(
    not(all(feature = "sqlite", feature = "worker")),
    allow(rustdoc::broken_intra_doc_links, reason = "what the features add is not there")
)]

mod connect;
mod store_url;

pub mod prelude;

pub use connect::{connect, connect_unchecked};
#[doc(inline)]
pub use queuekit_core::*;
/// The store in a Postgres database: its settings, transactions of the application's own, and the
/// version of `tokio-postgres` these are of.
#[cfg(feature = "postgres")]
#[doc(inline)]
pub use queuekit_postgres as postgres;
/// The store in a Redis server: its settings.
#[cfg(feature = "redis")]
#[doc(inline)]
pub use queuekit_redis as redis;
/// The store in an SQLite file: its settings, transactions of the application's own, and the
/// version of `rusqlite` these are of.
#[cfg(feature = "sqlite")]
#[doc(inline)]
pub use queuekit_sqlite as sqlite;
#[cfg(feature = "worker")]
#[doc(inline)]
pub use queuekit_worker::*;
pub use store_url::redacted;
