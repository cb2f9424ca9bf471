//! Events: emitting to one consumer side by side, and to ten consumers against ten enqueues; then
//! draining them, also in order, against jobs with partition keys.

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use futures_util::future::join_all;
use queuekit_core::{
    Ack, Backend, Client, ConsumerName, Enqueued, EventDraft, JobDraft, LeaseTtl, QueueName,
    Reserve, SubscriptionDraft, WorkerId,
};

use crate::BenchStore;
use crate::setup::{CHUNK, group, runtime, scaled};

const CALLERS: u64 = 64;
const CONSUMERS: usize = 10;
const LARGE: usize = 10_000;
const SMALL: usize = 110;
/// Calls of each caller by which one is timed: a store that was just opened is slower.
const CALLS: usize = 100;
/// Deliveries, or jobs, that are drained.
const DRAINED: usize = 20_000;
const KEYS: usize = 1000;
/// Leases of one reserve.
const BATCH: usize = 500;

/// Where the store keeps events.
pub(crate) fn events<S: BenchStore>(criterion: &mut Criterion) {
    let runtime = runtime();
    let has_events = runtime.block_on(async { S::open().await.capabilities().outbox.is_some() });
    if !has_events {
        return;
    }
    let mut group = group::<S>(criterion, "events");
    let calls = scaled(CALLS) as u64;
    group.throughput(Throughput::Elements(CALLERS * calls));
    group.bench_function(format!("emit to 1 consumer, {CALLERS} callers"), |bencher| {
        bencher.iter_custom(|times| runtime.block_on(side_by_side::<S>(times * calls)));
    });
    group.throughput(Throughput::Elements(calls));
    group.bench_function(format!("emit {LARGE} bytes to {CONSUMERS} consumers"), |bencher| {
        bencher.iter_custom(|times| runtime.block_on(fan_out::<S>(times * calls)));
    });
    group.bench_function(format!("{CONSUMERS} enqueues of {LARGE} bytes"), |bencher| {
        bencher.iter_custom(|times| runtime.block_on(enqueues::<S>(times * calls, false)));
    });
    group.bench_function(format!("{CONSUMERS} enqueues of {LARGE} bytes in one call"), |bencher| {
        bencher.iter_custom(|times| runtime.block_on(enqueues::<S>(times * calls, true)));
    });
    let drained = scaled(DRAINED);
    group.sample_size(10);
    group.throughput(Throughput::Elements(drained as u64));
    for consumers in [1, CONSUMERS] {
        group.bench_function(format!("drain by {consumers} consumers"), |bencher| {
            let drain = |times| drain_events::<S>(times, drained, consumers, Keys::Unused);
            bencher.iter_custom(|times| runtime.block_on(drain(times)));
        });
    }
    for (name, keys) in [
        (format!("drain in order, {KEYS} keys"), Keys::InOrder(KEYS)),
        (format!("drain in turn, {KEYS} keys"), Keys::InTurn(KEYS)),
        ("drain in turn, 1 key".to_owned(), Keys::InTurn(1)),
    ] {
        group.bench_function(name, |bencher| {
            let drain = |times| drain_events::<S>(times, drained, 1, keys);
            bencher.iter_custom(|times| runtime.block_on(drain(times)));
        });
    }
    group.bench_function(format!("drain of jobs with {KEYS} keys"), |bencher| {
        bencher.iter_custom(|times| runtime.block_on(drain_keyed::<S>(times, drained)));
    });
}

/// How consumers use the partition keys of events; the number is that of the keys.
#[derive(Clone, Copy)]
enum Keys {
    Unused,
    InTurn(usize),
    InOrder(usize),
}

async fn client_with<S: BenchStore>(consumers: usize, keys: Keys) -> Client {
    let client = Client::shared(S::open().await);
    for n in 0..consumers {
        let draft = SubscriptionDraft::new(name(n), "*");
        let draft = match keys {
            Keys::Unused => draft,
            Keys::InTurn(_) => draft.fair(),
            Keys::InOrder(_) => draft.ordered(),
        };
        let subscription = draft.build().expect("a subscription");
        client.consumers().declare(&subscription).await.expect("declare");
    }
    client
}

fn name(consumer: usize) -> ConsumerName {
    ConsumerName::new(format!("consumer-{consumer}")).expect("a name")
}

async fn side_by_side<S: BenchStore>(each: u64) -> Duration {
    let client = client_with::<S>(1, Keys::Unused).await;
    client.emit(EventDraft::new("event", "first")).await.expect("emit");
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

/// Bytes that no store can make smaller (a linear congruential generator's upper bits).
fn large() -> Vec<u8> {
    let next = |state: &u64| {
        Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    };
    let numbers = std::iter::successors(Some(1_u64), next);
    numbers.take(LARGE).map(|number| number.to_be_bytes()[0]).collect()
}

async fn fan_out<S: BenchStore>(events: u64) -> Duration {
    let client = client_with::<S>(CONSUMERS, Keys::Unused).await;
    client.emit(EventDraft::new("event", "first")).await.expect("emit");
    let started = Instant::now();
    let data = large();
    for _ in 0..events {
        client.emit(EventDraft::new("event", data.clone())).await.expect("emit");
    }
    started.elapsed()
}

async fn enqueues<S: BenchStore>(rounds: u64, in_one_call: bool) -> Duration {
    let client = client_with::<S>(0, Keys::Unused).await;
    let data = large();
    let job = |n: usize| JobDraft::new("job", data.clone()).queue(format!("queue-{n}"));
    let started = Instant::now();
    for _ in 0..rounds {
        if in_one_call {
            client
                .enqueue_all((0..CONSUMERS).map(job))
                .await
                .and_then(Enqueued::ids)
                .expect("enqueue");
            continue;
        }
        for n in 0..CONSUMERS {
            client.enqueue(job(n)).await.expect("enqueue");
        }
    }
    started.elapsed()
}

/// Takes and completes this number of deliveries in all, with one task per consumer.
async fn drain_events<S: BenchStore>(
    times: u64,
    deliveries: usize,
    consumers: usize,
    keys: Keys,
) -> Duration {
    let mut took = Duration::ZERO;
    for _ in 0..times {
        let client = client_with::<S>(consumers, keys).await;
        let event = |n: usize| {
            let draft = EventDraft::new("event", vec![b'x'; SMALL]);
            match keys {
                Keys::Unused => draft,
                Keys::InTurn(keys) | Keys::InOrder(keys) => {
                    draft.partition_key(format!("k{}", n % keys))
                }
            }
        };
        let events: Vec<usize> = (0..deliveries / consumers).collect();
        for some in events.chunks(CHUNK) {
            let emitted = client.emit_all(some.iter().map(|n| event(*n))).await;
            emitted.and_then(|emitted| emitted.ids()).expect("emit");
        }
        let started = Instant::now();
        let backend = client.backend();
        let queue = |n| name(n).queue().expect("a queue");
        let drained = join_all((0..consumers).map(|n| drain(&**backend, queue(n)))).await;
        took += started.elapsed();
        assert_eq!(drained.iter().sum::<usize>(), events.len() * consumers);
        client.close().await.expect("close");
    }
    took
}

/// Drains as many jobs of a queue whose partition keys are served in the order of their jobs.
async fn drain_keyed<S: BenchStore>(times: u64, jobs: usize) -> Duration {
    let mut took = Duration::ZERO;
    for _ in 0..times {
        let client = client_with::<S>(0, Keys::Unused).await;
        let job = |n: usize| {
            JobDraft::new("job", vec![b'x'; SMALL]).partition_key(format!("k{}", n % KEYS))
        };
        let numbers: Vec<usize> = (0..jobs).collect();
        for some in numbers.chunks(CHUNK) {
            client
                .enqueue_all(some.iter().map(|n| job(*n)))
                .await
                .and_then(Enqueued::ids)
                .expect("enqueue");
        }
        let started = Instant::now();
        assert_eq!(drain(&**client.backend(), QueueName::default()).await, jobs);
        took += started.elapsed();
        client.close().await.expect("close");
    }
    took
}

/// Completes all jobs of a queue; how many.
async fn drain(store: &dyn Backend, queue: QueueName) -> usize {
    let mut drained = 0;
    loop {
        let worker = WorkerId::new("bench").expect("a name");
        let request = Reserve::new(queue.clone(), BATCH, LeaseTtl::default(), worker);
        let reserved = store.reserve(&request.expect("a nonce")).await.expect("reserve");
        if reserved.leases.is_empty() {
            return drained;
        }
        drained += reserved.leases.len();
        let acks: Vec<Ack> = reserved.leases.into_iter().map(|l| Ack::new(l.token)).collect();
        let outcomes = store.ack(&acks).await.expect("ack");
        assert_eq!(outcomes.len(), acks.len());
    }
}
