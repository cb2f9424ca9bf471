//! Durable jobs in Redis 6.2 and later, and in Valkey.
//!
//! Each queue is a few keys in one hash slot, and every operation is one script on them, so that it
//! takes effect as a whole. `docs/redis.md` has the keys, the settings that a server needs, and the
//! guarantees; `docs/semantics.md` has the rules that every store keeps.
//!
//! ```no_run
//! use queuekit::redis::RedisStore;
//! use queuekit::{Client, JobDraft, Status};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> queuekit::Result<()> {
//! let client = Client::new(RedisStore::connect_url("redis://localhost/0").await?);
//! let id = client.enqueue(JobDraft::new("report", "{}")).await?;
//! assert_eq!(client.jobs().get(id).await?.map(|job| job.status), Some(Status::Ready));
//! client.close().await?;
//! # Ok(())
//! # }
//! ```

mod actions;
mod address;
mod admin;
mod audit;
mod backend;
mod call;
mod cancels;
mod checkpoints;
mod cluster;
mod codec;
mod config;
mod connect;
mod connection;
mod control;
mod enqueue;
mod error;
mod error_groups;
mod history;
mod indeterminate;
mod inspect;
mod io;
mod keys;
mod known_queues;
mod layout;
mod leases;
mod marker;
mod migrate;
mod node;
mod open;
mod outbox;
mod queues;
mod read;
mod repeat;
mod reserve;
mod schedules;
mod scripts;
mod sentinel;
mod server;
mod settings;
mod settle;
mod step;
mod tls;
mod topology;
mod upkeep;
mod url;
mod wakeups;

/// The layout of what is stored, for tests that look at it.
#[doc(hidden)]
pub mod for_tests;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use queuekit_core::capability::{Resting, WakeupHub};
use queuekit_core::{Limits, Result};
use tokio::sync::Semaphore;

pub use config::RedisConfig;

use io::Io;
use keys::Keyspace;
use known_queues::Known;
use scripts::Scripts;
use topology::Topology;

/// How long calls in progress may continue when the store is closed.
const GRACE: Duration = Duration::from_secs(2);

/// A store in a Redis server; clones share it.
#[derive(Clone)]
pub struct RedisStore {
    shared: Arc<Shared>,
    /// When the call that made this handle for its steps must end.
    ends_at: Option<tokio::time::Instant>,
}

struct Shared {
    io: Io,
    topology: Topology,
    scripts: Arc<Scripts>,
    keyspace: Keyspace,
    known: Known,
    wakeups: Arc<WakeupHub>,
    marker: marker::Marker,
    cancels: cancels::Cancels,
    /// The workers of this process that rest.
    resting: Resting,
    /// The turn of the scripts that count jobs of keys.
    counting: Semaphore,
    op_timeout: Duration,
    wait_replicas: Option<(u32, Duration)>,
    limits: Limits,
    /// The key in which tests in a Cluster keep the time.
    test_clock: Option<String>,
    repair: upkeep::Cursor,
    pruned: upkeep::Cursor,
    /// Up to which event of the log retention has looked.
    pruned_events: AtomicU64,
    closed: AtomicBool,
    calls: AtomicUsize,
}

impl RedisStore {
    /// Opens the store of a URL:
    ///
    /// | URL | store |
    /// |---|---|
    /// | `redis://USER:PASSWORD@HOST:PORT/DATABASE` | a server; if it is a node of a Cluster, that |
    /// | `redis-cluster://USER:PASSWORD@HOST:PORT,HOST:PORT` | a Cluster of which these are nodes |
    /// | `redis-sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER/DATABASE` | the master of this name, as these sentinels know it |
    ///
    /// With `rediss`, `rediss-cluster` and `rediss-sentinel` all connections are encrypted.
    /// Settings follow a `?`, joined by `&`:
    ///
    /// | setting | values | meaning |
    /// |---|---|---|
    /// | `prefix` | `qk` | [`RedisConfig::prefix`] |
    /// | `sslmode` | `disable` | says that `redis:` is in plain text on purpose |
    /// | `root_certificates` | a file | [`RedisConfig::root_certificates`] |
    /// | `op_timeout_ms` | 10000 | [`RedisConfig::op_timeout`] |
    /// | `wait_replicas` | 0 | [`RedisConfig::wait_replicas`] |
    /// | `wait_timeout_ms` | 1000 | likewise |
    /// | `migrate` | `on` (default), `off` | [`RedisConfig::migrate`] |
    /// | `allow_volatile` | `off` (default), `on` | [`RedisConfig::allow_volatile`] |
    /// | `sentinel_user`, `sentinel_password` | none | what the sentinels want, if anything |
    ///
    /// # Errors
    /// `Invalid` if the URL cannot be parsed; else as [`connect`](Self::connect).
    pub async fn connect_url(url: &str) -> Result<Self> {
        Self::connect(RedisConfig::from_url(url)?).await
    }

    /// Opens a store.
    ///
    /// # Errors
    /// `Unavailable` if the server cannot be reached, is a replica, or may lose stored data (see
    /// [`RedisConfig::allow_volatile`]). `Unsupported` if the server is older than 6.2, or if a
    /// newer build wrote its data.
    pub async fn connect(config: RedisConfig) -> Result<Self> {
        open::open(config, true).await.map_err(|error| error.during("connect"))
    }

    /// Opens a store without checking the server's settings: for `doctor` and `migrate`.
    ///
    /// # Errors
    /// `Unavailable` if the server cannot be reached.
    pub async fn connect_unchecked(config: RedisConfig) -> Result<Self> {
        open::open(config, false).await.map_err(|error| error.during("connect"))
    }

    async fn end(&self) {
        let shared = &*self.shared;
        shared.closed.store(true, Ordering::Release);
        let waiting = Arc::clone(&self.shared);
        let waited = shared.io.handle().spawn(async move {
            let deadline = Instant::now() + GRACE;
            while waiting.calls.load(Ordering::Acquire) > 0 && Instant::now() < deadline {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        drop(waited.await);
        shared.io.stop().await;
        shared.wakeups.ring_all();
        shared.wakeups.ring_all_cancels();
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

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("prefix", &self.shared.keyspace.prefix())
            .finish_non_exhaustive()
    }
}
