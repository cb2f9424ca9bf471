//! The benchmarks on the in-memory store.

use std::sync::Arc;

use queuekit_benches::BenchStore;
use queuekit_core::Backend;
use queuekit_core::memory::MemoryStore;

struct Memory;

impl BenchStore for Memory {
    const NAME: &'static str = "memory";

    async fn open() -> Arc<dyn Backend> {
        Arc::new(MemoryStore::new())
    }
}

fn main() {
    queuekit_benches::run::<Memory>();
}
