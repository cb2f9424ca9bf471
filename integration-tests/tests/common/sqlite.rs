//! The SQLite store under the suite: each case has a file of its own.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use queuekit_conformance::kit::limits;
use queuekit_conformance::{Capability, Expect, Harness, World};
use queuekit_core::capability::Durability;
use queuekit_core::{Backend, Clock, JobId, ManualClock, OffsetClock};
use queuekit_integration_tests::raw_dump;
use queuekit_sqlite::{SqliteConfig, SqliteStore, rusqlite};
use tempfile::TempDir;

/// Opens stores on clocks that only the suite moves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SqliteHarness;

/// Opens stores whose time passes by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LiveSqliteHarness;

#[async_trait]
impl Harness for SqliteHarness {
    async fn open(&self) -> Arc<dyn World> {
        Arc::new(SqliteWorld::stopped().await)
    }
}

#[async_trait]
impl Harness for LiveSqliteHarness {
    async fn open(&self) -> Arc<dyn World> {
        Arc::new(SqliteWorld::open(OffsetClock::default()).await)
    }
}

/// A clock that tests can move.
pub(crate) trait TestClock: Clock + Clone {
    /// Only tests move it.
    const STANDS: bool;

    fn jump(&self, by: Duration);
    fn jump_back(&self, by: Duration);
}

impl TestClock for ManualClock {
    const STANDS: bool = true;

    fn jump(&self, by: Duration) {
        self.advance(by);
    }

    fn jump_back(&self, by: Duration) {
        self.set(self.now().minus(by));
    }
}

impl TestClock for OffsetClock {
    const STANDS: bool = false;

    fn jump(&self, by: Duration) {
        self.advance(by);
    }

    fn jump_back(&self, by: Duration) {
        self.rewind(by);
    }
}

/// A store, and its clock.
pub(crate) struct SqliteWorld<C> {
    config: SqliteConfig,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) store: SqliteStore,
    clock: C,
    _directory: TempDir,
}

impl SqliteWorld<ManualClock> {
    /// One whose clock only the suite moves.
    pub(crate) async fn stopped() -> Self {
        Self::open(ManualClock::default()).await
    }
}

impl<C: TestClock> SqliteWorld<C> {
    async fn open(clock: C) -> Self {
        let directory = tempfile::tempdir().expect("a directory for the store");
        let config = SqliteConfig::new(directory.path().join("jobs.db"));
        let config = config.clock(clock.clone()).limits(limits());
        let store = SqliteStore::connect(config.clone()).await.expect("the store opens");
        let backend = Arc::new(store.clone());
        Self { config, backend, store, clock, _directory: directory }
    }
}

#[async_trait]
impl<C: TestClock> World for SqliteWorld<C> {
    fn expect(&self) -> Expect {
        Expect {
            capabilities: &Capability::ALL,
            can_corrupt: true,
            can_rewind: true,
            clock_stands: C::STANDS,
            second_handle: true,
            raw_dump: true,
            atomic_across_queues: true,
            durability: Some(Durability::PowerLoss),
            ..Expect::TEN_OPERATIONS
        }
    }

    fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    async fn advance(&self, by: Duration) {
        self.clock.jump(by);
    }

    async fn rewind(&self, by: Duration) -> bool {
        self.clock.jump_back(by);
        true
    }

    async fn second_handle(&self) -> Option<Arc<dyn Backend>> {
        let second = SqliteStore::connect(self.config.clone()).await;
        Some(Arc::new(second.expect("a second handle opens")))
    }

    async fn corrupt(&self, id: JobId) -> bool {
        let conn = rusqlite::Connection::open(self.store.path()).expect("the file opens");
        conn.busy_timeout(Duration::from_secs(10)).expect("a timeout");
        let corrupt = include_str!("../../sql/sqlite_corrupt.sql");
        conn.execute(corrupt, [id.as_bytes()]).expect("the file is written") == 1
    }

    async fn raw_dump(&self) -> Option<Vec<String>> {
        Some(raw_dump::sqlite_at(self.store.path()))
    }

    async fn dispose(&self) {
        self.backend.close().await.expect("the store closes");
    }
}
