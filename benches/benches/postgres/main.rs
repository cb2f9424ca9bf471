//! The benchmarks on the Postgres store, at default durability: on the server at
//! `QUEUEKIT_BENCH_POSTGRES_URL`, else on one of our own, on the disk of `TMPDIR`.
#![expect(clippy::expect_used, reason = "a benchmark that fails has no figure to give")]

mod server;

use std::sync::Arc;

use queuekit_benches::BenchStore;
use queuekit_core::Backend;
use queuekit_postgres::PostgresStore;
use tokio::runtime::Runtime;

struct Postgres;

impl BenchStore for Postgres {
    const NAME: &'static str = "postgres";

    const SLOTS: usize = 2000;

    async fn open() -> Arc<dyn Backend> {
        Self::open_at(&server::database().await).await
    }

    async fn open_shared() -> Option<(Arc<dyn Backend>, String)> {
        let url = server::database().await;
        Some((Self::open_at(&url).await, url))
    }

    async fn open_at(address: &str) -> Arc<dyn Backend> {
        Arc::new(PostgresStore::connect_url(address).await.expect("the store opens"))
    }
}

fn main() {
    let runtime = Runtime::new().expect("a runtime can be made");
    // Another process of the same benchmark gets the address of its database, and starts no server.
    if queuekit_benches::is_other::<Postgres>() || !runtime.block_on(server::is_there()) {
        return;
    }
    queuekit_benches::run::<Postgres>();
}
