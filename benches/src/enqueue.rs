//! Enqueueing through a client: alone, side by side, and in bulk.

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use queuekit_core::{Client, Enqueued};

use crate::BenchStore;
use crate::setup::{CHUNK, Noop, group, runtime};

/// Single calls by 1, 8, 16 and 64 callers at a time, and calls with 1,000 jobs.
pub(crate) fn enqueue<S: BenchStore>(criterion: &mut Criterion) {
    let runtime = runtime();
    let mut group = group::<S>(criterion, "enqueue");
    for callers in [1, 8, 16, 64] {
        group.throughput(Throughput::Elements(callers));
        group.bench_function(format!("{callers} callers"), |bencher| {
            bencher.iter_custom(|each| runtime.block_on(one_by_one::<S>(callers, each)));
        });
    }
    group.throughput(Throughput::Elements(CHUNK as u64));
    group.bench_function(format!("bulk of {CHUNK}"), |bencher| {
        bencher.iter_custom(|calls| runtime.block_on(in_bulk::<S>(calls)));
    });
}

/// Every caller waits for its call before it makes the next.
async fn one_by_one<S: BenchStore>(callers: u64, each: u64) -> Duration {
    let client = Client::shared(S::open().await);
    let started = Instant::now();
    let caller = |_| {
        let client = client.clone();
        tokio::spawn(async move {
            for number in 0..each as usize {
                client.enqueue(Noop { number }).await.expect("enqueue");
            }
        })
    };
    let callers: Vec<_> = (0..callers).map(caller).collect();
    for caller in callers {
        caller.await.expect("a caller ends well");
    }
    started.elapsed()
}

async fn in_bulk<S: BenchStore>(calls: u64) -> Duration {
    let client = Client::shared(S::open().await);
    let started = Instant::now();
    for _ in 0..calls {
        let jobs = (0..CHUNK).map(|number| Noop { number });
        client.enqueue_all(jobs).await.and_then(Enqueued::ids).expect("enqueue");
    }
    started.elapsed()
}
