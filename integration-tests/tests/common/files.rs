//! A file of its own for each test of the SQLite store, and changes to it from outside.

use std::path::{Path, PathBuf};
use std::time::Duration;

use queuekit_conformance::kit::{build, draft, request};
use queuekit_core::queue::Queue;
use queuekit_core::{Ack, AckOutcome, Backend, BackendExt, EnqueueOutcome, Lease, QueueName};
use queuekit_sqlite::{SqliteConfig, SqliteStore, rusqlite};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tempfile::TempDir;

/// A directory with a file for a store in it; both are removed at the end.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) directory: TempDir,
    pub(crate) path: PathBuf,
}

impl File {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("jobs.db");
        Self { directory, path }
    }

    pub(crate) fn config(&self) -> SqliteConfig {
        SqliteConfig::new(&self.path)
    }

    pub(crate) async fn store(&self) -> SqliteStore {
        self.config().open().await
    }

    /// A connection as an application has one.
    pub(crate) fn connection(&self) -> Connection {
        connection(&self.path)
    }

    /// The file beside it with this ending.
    pub(crate) fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(ending);
        name.into()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.path).expect("the file is read")
    }
}

pub(crate) trait Open {
    async fn open(self) -> SqliteStore;
}

impl Open for SqliteConfig {
    async fn open(self) -> SqliteStore {
        SqliteStore::connect(self).await.expect("the store opens")
    }
}

pub(crate) fn connection(path: &Path) -> Connection {
    let conn = Connection::open(path).expect("a connection");
    conn.busy_timeout(Duration::from_secs(10)).expect("a timeout");
    conn
}

/// Begins a transaction that holds the write lock.
pub(crate) fn begin(conn: &mut Connection) -> Transaction<'_> {
    conn.transaction_with_behavior(TransactionBehavior::Immediate).expect("the write lock")
}

/// Stores this many plain jobs.
pub(crate) async fn add(store: &SqliteStore, n: usize) {
    let jobs: Vec<_> = (0..n).map(|_| build(draft())).collect();
    for slice in jobs.chunks(1000) {
        let outcomes = store.enqueue(slice).await.expect("jobs are stored");
        let created = |outcome: &EnqueueOutcome| matches!(outcome, EnqueueOutcome::Created { .. });
        assert!(outcomes.iter().all(created), "{outcomes:?}");
    }
}

pub(crate) async fn lease(store: &SqliteStore, limit: usize) -> Vec<Lease> {
    let reserved = store.reserve(&request(QueueName::default(), limit)).await;
    reserved.expect("a reserve").leases
}

pub(crate) async fn complete(store: &SqliteStore, leases: Vec<Lease>) {
    let acks: Vec<Ack> = leases.into_iter().map(|lease| Ack::new(lease.token)).collect();
    let outcomes = store.ack(&acks).await.expect("acks");
    assert!(outcomes.iter().all(|outcome| *outcome == AckOutcome::Acked), "{outcomes:?}");
}

/// The figures of the queue `default`.
pub(crate) async fn figures(store: &SqliteStore) -> Queue {
    let queues = store.all_queues().await.expect("the queues");
    let default = QueueName::default();
    queues.into_iter().find(|queue| queue.name == default).expect("the queue")
}

/// Asserts that derived data agrees with the jobs: counters, keys, where jobs stand.
#[track_caller]
pub(crate) fn assert_exact(conn: &Connection) {
    let mut counters = conn.prepare(include_str!("../../sql/sqlite_counters.sql")).unwrap();
    let mut rows = counters.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let [counted, found] = [0, 1].map(|column| row.get::<_, String>(column).unwrap());
        assert_eq!(counted, found, "the counters of a queue, and its jobs");
    }
    let mut lanes = conn.prepare(include_str!("../../sql/sqlite_lane_counters.sql")).unwrap();
    let lanes = lanes.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let differ: Vec<String> = lanes.map(Result::unwrap).collect();
    assert!(differ.is_empty(), "{differ:#?}");
}
