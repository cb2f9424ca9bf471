//! Durable jobs in Postgres, 15 and later.
//!
//! Jobs are stored in tables of the store's own schema. A worker takes them with `FOR UPDATE SKIP
//! LOCKED`, and an ended job leaves the tables that reserve reads at once. Jobs can be stored and
//! completed inside the application's own transactions. `docs/postgres.md` has the tables, the
//! guarantees and the settings; `docs/semantics.md` has the rules that every store keeps.
//!
//! ```no_run
//! use queuekit::postgres::PostgresStore;
//! use queuekit::{Client, JobDraft, Status};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> queuekit::Result<()> {
//! let client = Client::new(PostgresStore::connect_url("postgres://localhost/app").await?);
//! let id = client.enqueue(JobDraft::new("report", "{}")).await?;
//! assert_eq!(client.jobs().get(id).await?.map(|job| job.status), Some(Status::Ready));
//! client.close().await?;
//! # Ok(())
//! # }
//! ```

mod admin;
mod audit;
mod backend;
mod call;
mod checkpoints;
mod column_names;
mod config;
mod control;
mod counters;
mod enqueue;
mod error;
mod error_groups;
mod gates;
mod history;
mod inspect;
mod io;
mod leases;
mod migrate;
mod notifications;
mod open;
mod outbox;
mod params;
mod partitions;
mod pool;
mod queues;
mod read;
mod reserve;
mod row;
mod schedules;
mod session;
mod statements;
mod step;
mod tls;
mod tx;
mod upkeep;
mod url;
mod wakeups;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use deadpool_postgres::Pool;
use queuekit_core::capability::WakeupHub;
use queuekit_core::{Limits, Result};
use tokio::sync::watch;

pub use config::{Listen, PostgresConfig, Prepared, SettleDurability, Tls};
/// The version of tokio-postgres whose transactions [`PostgresStore::enqueue_in`] takes.
pub use tokio_postgres;

use gates::Gates;
use io::Io;
use queues::Known;
use session::Begins;
use statements::Statements;

/// How long calls in progress may continue when the store is closed.
const GRACE: Duration = Duration::from_secs(2);

/// A store in a Postgres database; clones share it.
#[derive(Clone)]
pub struct PostgresStore {
    shared: Arc<Shared>,
}

struct Shared {
    io: Io,
    pool: Pool,
    /// Connections for heartbeats only, so that no other call can exhaust them.
    heartbeats: Pool,
    statements: Statements,
    begins: Begins,
    prepared: Prepared,
    settle: SettleDurability,
    op_timeout: Duration,
    /// After a call that took longer, its connection makes its plans anew.
    replan_after: Duration,
    limits: Limits,
    known: Known,
    gates: Gates,
    hints: step::Hints,
    wakeups: Arc<WakeupHub>,
    notices: notifications::Notices,
    folding: upkeep::Folding,
    prune: upkeep::Cursor,
    repair: upkeep::Cursor,
    closed: AtomicBool,
    calls: AtomicUsize,
    /// Calls that still run are cut off.
    cut: watch::Sender<bool>,
}

impl PostgresStore {
    /// Opens the store of a URL, `postgres://USER:PASSWORD@HOST:PORT/DATABASE?setting=value&..`.
    ///
    /// | setting | values | meaning |
    /// |---|---|---|
    /// | `schema` | `queuekit` | the schema of its tables |
    /// | `prepared` | `auto` (default), `off` | [`Prepared`] |
    /// | `listen` | a URL with `%26` for `&`, `off` | [`Listen`] |
    /// | `settle` | `database` (default), `relaxed` | [`SettleDurability`] |
    /// | `sslmode` | `prefer` (default), `disable`, `require`, `verify-full` | [`Tls`] |
    /// | `sslrootcert` | a file | [`PostgresConfig::root_certificates`] |
    /// | `pool_size` | 8 | [`PostgresConfig::pool_size`] |
    /// | `op_timeout_ms` | 10000 | [`PostgresConfig::op_timeout`] |
    /// | `statement_timeout_ms` | 10000 | [`PostgresConfig::statement_timeout`] |
    /// | `lock_timeout_ms` | 100 | [`PostgresConfig::lock_timeout`] |
    /// | `migrate` | `on` (default), `off` | [`PostgresConfig::migrate`] |
    /// | `allow_volatile` | `off` (default), `on` | [`PostgresConfig::allow_volatile`] |
    ///
    /// The driver's own settings, such as `application_name` or `connect_timeout`, work as well.
    ///
    /// # Errors
    /// `Invalid` if the URL cannot be parsed; else as [`connect`](Self::connect).
    pub async fn connect_url(url: &str) -> Result<Self> {
        Self::connect(PostgresConfig::from_url(url)?).await
    }

    /// Opens a store, and brings its schema up to date.
    ///
    /// # Errors
    /// `Unavailable` if the server cannot be reached, is a standby, or may lose stored data (see
    /// [`PostgresConfig::allow_volatile`]). `Unsupported` if the server is older than 15, if the
    /// schema is newer than this build, or if it is older and migrations are off.
    pub async fn connect(config: PostgresConfig) -> Result<Self> {
        open::open(config, true).await.map_err(|error| error.during("connect"))
    }

    /// Opens a store without checking server and schema: for `doctor` and `migrate`.
    ///
    /// # Errors
    /// `Unavailable` if the server cannot be reached.
    pub async fn connect_unchecked(config: PostgresConfig) -> Result<Self> {
        open::open(config, false).await.map_err(|error| error.during("connect"))
    }

    /// The schema of its tables.
    pub fn schema(&self) -> &str {
        self.shared.statements.schema.as_str()
    }

    async fn end(&self) {
        let shared = &*self.shared;
        shared.closed.store(true, Ordering::Release);
        let deadline = Instant::now() + GRACE;
        while shared.calls.load(Ordering::Acquire) > 0 && Instant::now() < deadline {
            shared.pause(Duration::from_millis(10)).await;
        }
        shared.cut.send_replace(true);
        shared.pool.close();
        shared.heartbeats.close();
        shared.io.stop().await;
        shared.wakeups.ring_all();
    }
}

impl Shared {
    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) { Err(error::closed()) } else { Ok(()) }
    }

    fn count_call(&self) -> impl Drop + '_ {
        struct Counted<'a>(&'a AtomicUsize);
        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::AcqRel);
            }
        }
        self.calls.fetch_add(1, Ordering::AcqRel);
        Counted(&self.calls)
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("schema", &self.schema()).finish_non_exhaustive()
    }
}
