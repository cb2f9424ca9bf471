//! Durable jobs in one SQLite file: the embedded default.
//!
//! One thread writes, and runs all waiting calls in one transaction (group commit); other threads
//! read at the same time. Several processes may share the file. `docs/sqlite.md` has the schema,
//! the guarantees and the settings; `docs/semantics.md` has the rules that every store keeps.
//!
//! ```
//! use queuekit::sqlite::SqliteStore;
//! use queuekit::{Client, JobDraft, Status};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> queuekit::Result<()> {
//! # let directory = tempfile::tempdir().unwrap();
//! # let path = directory.path().join("jobs.db");
//! let client = Client::new(SqliteStore::open(path).await?);
//! let id = client.enqueue(JobDraft::new("report", "{}")).await?;
//! assert_eq!(client.jobs().get(id).await?.map(|job| job.status), Some(Status::Ready));
//! client.close().await?;
//! # Ok(())
//! # }
//! ```

mod admin;
mod audit;
mod backend;
mod cancels;
mod checkpoints;
mod column_names;
mod command;
mod config;
mod control;
#[cfg(test)]
mod cost;
mod error;
mod error_groups;
mod file_identity;
mod history;
mod inspect;
mod leases;
mod migrate;
mod open;
mod outbox;
#[cfg(test)]
mod plans;
mod read;
mod readers;
mod row;
mod schedules;
mod schema;
mod statements;
mod step;
mod tx;
mod upkeep;
mod url;
mod wakeups;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use queuekit_core::Result;
use queuekit_core::capability::WakeupHub;
use tokio::sync::watch;

pub use config::{Create, SqliteConfig, Synchronous};
/// The version of rusqlite whose transactions [`SqliteStore::enqueue_in`] takes.
pub use rusqlite;

use file_identity::FileIdentity;
use readers::Readers;
use step::Step;
use writer::Writer;

/// A store in an SQLite file; clones share it.
#[derive(Clone)]
pub struct SqliteStore {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    config: SqliteConfig,
    writer: Writer,
    readers: Readers,
    wakeups: Arc<WakeupHub>,
    closed: AtomicBool,
    /// Closes when every thread has closed the file.
    ended: watch::Receiver<()>,
    /// The queue with which the next step of retention begins.
    prune: Mutex<String>,
    repair: Mutex<upkeep::Cursor>,
    /// Up to which event of the log retention has looked.
    pruned_events: AtomicI64,
}

impl SqliteStore {
    /// Opens the store in this file with the default settings; creates the file if it does not
    /// exist.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::connect(SqliteConfig::new(path)).await
    }

    /// Opens the store of a URL, `sqlite://PATH?setting=value&..`.
    ///
    /// | setting | values | meaning |
    /// |---|---|---|
    /// | `synchronous` | `full` (default), `normal` | [`Synchronous`] |
    /// | `create` | `file` (default), `tables`, `nothing` | [`Create`] |
    /// | `migrate` | `on` (default), `off` | [`SqliteConfig::migrate`] |
    /// | `journal` | `keep` (default), `wal` | [`SqliteConfig::switch_to_wal`] |
    /// | `op_timeout_ms` | 10000 | [`SqliteConfig::op_timeout`] |
    ///
    /// # Errors
    /// `Invalid` if the URL cannot be parsed; else as [`connect`](Self::connect).
    pub async fn connect_url(url: &str) -> Result<Self> {
        Self::connect(SqliteConfig::from_url(url)?).await
    }

    /// Opens a store, and brings its schema up to date.
    ///
    /// # Errors
    /// `Unavailable` if the file cannot be read and written, `Corrupt` if it is damaged or not a
    /// database, `Conflict` if it is another application's, `Unsupported` if its schema is newer
    /// than this build, or older and migrations are off. On an error the file is unchanged.
    pub async fn connect(config: SqliteConfig) -> Result<Self> {
        Self::start(config, true).await.map_err(|error| error.during("connect"))
    }

    /// Opens a store without checking its schema: for `doctor` and `migrate`.
    ///
    /// # Errors
    /// As [`connect`](Self::connect), except for the errors about schemas.
    pub async fn connect_unchecked(config: SqliteConfig) -> Result<Self> {
        Self::start(config, false).await.map_err(|error| error.during("connect"))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    async fn start(config: SqliteConfig, checked: bool) -> Result<Self> {
        let opened = open::connections(config.clone(), checked).await?;
        let wakeups = Arc::new(WakeupHub::default());
        let (ends, ended) = watch::channel(());
        let settings = writer::Settings {
            limits: config.limits,
            clock: Arc::clone(&config.clock),
            op_timeout: config.op_timeout,
            wakeups: Arc::clone(&wakeups),
        };
        let (readers, reading) = Readers::start(opened.readers, config.limits, &config.clock)?;
        let writer =
            Writer::start(opened.writer, settings, FileIdentity::of(&opened.path), reading, ends)?;
        let shared = Shared {
            path: opened.path,
            config,
            writer,
            readers,
            wakeups,
            closed: AtomicBool::new(false),
            ended,
            prune: Mutex::default(),
            repair: Mutex::default(),
            pruned_events: AtomicI64::new(0),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Runs a step on the writer.
    async fn write<T: Send + 'static>(
        &self,
        operation: &'static str,
        step: impl FnMut(&mut Step<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.check_open().map_err(|error| error.during(operation))?;
        self.shared.writer.run(step).await.map_err(|error| error.during(operation))
    }

    /// Runs a step on a reader.
    async fn read<T: Send + 'static>(
        &self,
        operation: &'static str,
        step: impl FnMut(&mut Step<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.check_open().map_err(|error| error.during(operation))?;
        self.shared.readers.run(step).await.map_err(|error| error.during(operation))
    }

    fn check_open(&self) -> Result<()> {
        if self.shared.closed.load(Ordering::Acquire) { Err(error::closed()) } else { Ok(()) }
    }

    async fn end(&self) {
        self.shared.closed.store(true, Ordering::Release);
        self.shared.writer.close();
        self.shared.readers.close();
        // Nothing is ever sent: the channel closes when the threads end.
        let _ = self.shared.ended.clone().changed().await;
        self.shared.wakeups.ring_all();
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.shared.path).finish_non_exhaustive()
    }
}
