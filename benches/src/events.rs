//! Events: emitting to one consumer side by side, and to ten consumers against ten enqueues.

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use queuekit_core::{Client, EventDraft, JobDraft, SubscriptionDraft};

use crate::BenchStore;
use crate::setup::{group, runtime};

const CALLERS: u64 = 64;
const CONSUMERS: usize = 10;
const LARGE: usize = 10_000;
const SMALL: usize = 110;

/// Where the store keeps events.
pub(crate) fn events<S: BenchStore>(criterion: &mut Criterion) {
    let runtime = runtime();
    let has_events = runtime.block_on(async { S::open().await.capabilities().outbox.is_some() });
    if !has_events {
        return;
    }
    let mut group = group::<S>(criterion, "events");
    group.throughput(Throughput::Elements(CALLERS));
    group.bench_function(format!("emit to 1 consumer, {CALLERS} callers"), |bencher| {
        bencher.iter_custom(|each| runtime.block_on(side_by_side::<S>(each)));
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function(format!("emit {LARGE} bytes to {CONSUMERS} consumers"), |bencher| {
        bencher.iter_custom(|events| runtime.block_on(fan_out::<S>(events)));
    });
    group.bench_function(format!("{CONSUMERS} enqueues of {LARGE} bytes"), |bencher| {
        bencher.iter_custom(|rounds| runtime.block_on(enqueues::<S>(rounds, false)));
    });
    group.bench_function(format!("{CONSUMERS} enqueues of {LARGE} bytes in one call"), |bencher| {
        bencher.iter_custom(|rounds| runtime.block_on(enqueues::<S>(rounds, true)));
    });
}

async fn client_with<S: BenchStore>(consumers: usize) -> Client {
    let client = Client::shared(S::open().await);
    for n in 0..consumers {
        let name = format!("consumer-{n}");
        let subscription = SubscriptionDraft::new(name, "*").build().expect("a subscription");
        client.consumers().expect("events").declare(&subscription).await.expect("declare");
    }
    client
}

async fn side_by_side<S: BenchStore>(each: u64) -> Duration {
    let client = client_with::<S>(1).await;
    let started = Instant::now();
    let caller = |_| {
        let client = client.clone();
        tokio::spawn(async move {
            for _ in 0..each {
                client.emit(EventDraft::new("event", vec![b'x'; SMALL])).await.expect("emit");
            }
        })
    };
    let callers: Vec<_> = (0..CALLERS).map(caller).collect();
    for caller in callers {
        caller.await.expect("a caller ends well");
    }
    started.elapsed()
}

async fn fan_out<S: BenchStore>(events: u64) -> Duration {
    let client = client_with::<S>(CONSUMERS).await;
    let started = Instant::now();
    for _ in 0..events {
        client.emit(EventDraft::new("event", vec![b'x'; LARGE])).await.expect("emit");
    }
    started.elapsed()
}

async fn enqueues<S: BenchStore>(rounds: u64, in_one_call: bool) -> Duration {
    let client = client_with::<S>(0).await;
    let job = |n: usize| JobDraft::new("job", vec![b'x'; LARGE]).queue(format!("queue-{n}"));
    let started = Instant::now();
    for _ in 0..rounds {
        if in_one_call {
            client.enqueue_all((0..CONSUMERS).map(job)).await.expect("enqueue");
            continue;
        }
        for n in 0..CONSUMERS {
            client.enqueue(job(n)).await.expect("enqueue");
        }
    }
    started.elapsed()
}
