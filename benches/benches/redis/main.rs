//! The benchmarks on the Redis store, on servers of our own with an append-only file on the disk
//! of `TMPDIR`, synced every second.
#![expect(clippy::expect_used, reason = "a benchmark that fails has no figure to give")]

mod server;

use std::sync::Arc;

use queuekit_benches::BenchStore;
use queuekit_core::Backend;
use queuekit_redis::RedisStore;
use tokio::runtime::Runtime;

struct Redis;

impl BenchStore for Redis {
    const NAME: &'static str = "redis";

    async fn open() -> Arc<dyn Backend> {
        Self::open_at(&server::empty().await).await
    }

    async fn open_shared() -> Option<(Arc<dyn Backend>, String)> {
        let url = server::empty().await;
        Some((Self::open_at(&url).await, url))
    }

    async fn open_at(address: &str) -> Arc<dyn Backend> {
        Arc::new(RedisStore::connect_url(address).await.expect("the store opens"))
    }
}

fn main() {
    let runtime = Runtime::new().expect("a runtime can be made");
    // Another process of the same benchmark gets the address of its server, and starts none.
    if queuekit_benches::is_other::<Redis>() || !runtime.block_on(server::is_there()) {
        return;
    }
    queuekit_benches::run::<Redis>();
}
