//! The benchmarks on the SQLite store, at its default durability, on a file on disk.
#![expect(clippy::expect_used, reason = "a benchmark that fails has no figure to give")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use queuekit_benches::BenchStore;
use queuekit_core::Backend;
use queuekit_sqlite::SqliteStore;

static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();

struct Sqlite;

impl BenchStore for Sqlite {
    const NAME: &'static str = "sqlite";

    async fn open() -> Arc<dyn Backend> {
        Self::open_at(&new_file()).await
    }

    async fn open_shared() -> Option<(Arc<dyn Backend>, String)> {
        let file = new_file();
        Some((Self::open_at(&file).await, file))
    }

    async fn open_at(address: &str) -> Arc<dyn Backend> {
        Arc::new(SqliteStore::open(address).await.expect("the store opens"))
    }
}

/// A file of its own for each store, in a directory that goes when the process ends.
fn new_file() -> String {
    static FILES: AtomicUsize = AtomicUsize::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let directory = DIRECTORY.get().expect("main has made it");
    directory.join(format!("{number}.db")).display().to_string()
}

fn main() {
    let directory = tempfile::tempdir().expect("a directory for the stores");
    DIRECTORY.set(directory.path().to_owned()).expect("nobody else makes it");
    queuekit_benches::run::<Sqlite>();
}
