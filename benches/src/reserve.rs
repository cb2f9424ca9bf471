//! What a worker asks of a store, without the worker.

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use queuekit_core::{Ack, Backend};

use crate::BenchStore;
use crate::setup::{fill, group, reserve, runtime};

/// Reserve, then ack what was reserved, in batches.
pub(crate) fn reserve_and_ack<S: BenchStore>(criterion: &mut Criterion) {
    let runtime = runtime();
    let mut group = group::<S>(criterion, "reserve and ack");
    for batch in [1, 10, 100, 1000] {
        group.throughput(Throughput::Elements(batch as u64));
        group.bench_function(format!("batches of {batch}"), |bencher| {
            bencher.iter_custom(|batches| {
                runtime.block_on(async {
                    let store = S::open().await;
                    fill(&store, batch * batches as usize, |job| job).await;
                    drain(&store, batch).await
                })
            });
        });
    }
}

/// Completes all jobs of a store, at most `limit` at a time.
pub(crate) async fn drain(store: &dyn Backend, batch: usize) -> Duration {
    let started = Instant::now();
    loop {
        let leases = reserve(store, batch).await;
        if leases.is_empty() {
            return started.elapsed();
        }
        let acks: Vec<_> = leases.into_iter().map(|lease| Ack::new(lease.token)).collect();
        let outcomes = store.ack(&acks).await.expect("ack");
        assert_eq!(outcomes.len(), acks.len());
    }
}
