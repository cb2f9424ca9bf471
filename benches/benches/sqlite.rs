//! The benchmarks on the SQLite store, at its default durability, on a file on disk.

use std::sync::Arc;

use queuekit_benches::BenchStore;
use queuekit_core::Backend;
use queuekit_sqlite::SqliteStore;

struct Sqlite;

impl BenchStore for Sqlite {
    const NAME: &'static str = "sqlite";

    async fn open() -> Arc<dyn Backend> {
        // It lives as long as the process: benchmarks hold on to a store and drop it as they end.
        let directory = tempfile::tempdir().expect("a directory for the store").keep();
        let store = SqliteStore::open(directory.join("jobs.db")).await.expect("the store opens");
        Arc::new(store)
    }
}

fn main() {
    queuekit_benches::run::<Sqlite>();
}
