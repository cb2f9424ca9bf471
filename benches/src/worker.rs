//! Jobs through a worker, from enqueue to ack.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use criterion::{Criterion, SamplingMode, Throughput};
use queuekit_core::{BackendExt, Client, Enqueued, JobDraft, State};
use queuekit_worker::{Ctx, JobResult, RunningWorker, Worker};
use tokio::sync::Notify;

use crate::BenchStore;
use crate::setup::{CHUNK, Noop, fill, group, runtime, scaled};

/// Partition keys, where jobs have one: of each key one job runs at a time, in order.
const KEYS: usize = 10_000;

/// Jobs that go through the worker in one measurement.
pub(crate) fn jobs() -> usize {
    scaled(50_000)
}

/// No-op jobs from the first enqueue to the last ack, and from a full queue to the last ack.
pub(crate) fn cycle<S: BenchStore>(criterion: &mut Criterion) {
    let runtime = runtime();
    let mut group = group::<S>(criterion, "worker");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.throughput(Throughput::Elements(jobs() as u64));
    group.bench_function(format!("enqueue and drain {} jobs", jobs()), |bencher| {
        bencher.iter_custom(|times| {
            (0..times).map(|_| runtime.block_on(enqueue_and_drain::<S>())).sum()
        });
    });
    group.bench_function(format!("drain {} jobs", jobs()), |bencher| {
        bencher.iter_custom(|times| (0..times).map(|_| runtime.block_on(full_drain::<S>())).sum());
    });
    group.bench_function(format!("drain {} jobs of {} keys", jobs(), scaled(KEYS)), |bencher| {
        bencher.iter_custom(|times| (0..times).map(|_| runtime.block_on(keyed_drain::<S>())).sum());
    });
}

/// The worker waits when the first job comes.
async fn enqueue_and_drain<S: BenchStore>() -> Duration {
    let client = Client::shared(S::open().await);
    let (worker, done) = start::<S>(&client).await;
    let started = Instant::now();
    for first in (0..jobs()).step_by(CHUNK) {
        let numbers = first..jobs().min(first + CHUNK);
        let calls = client.enqueue_all(numbers.map(|number| Noop { number }));
        calls.await.and_then(Enqueued::ids).expect("enqueue");
    }
    finish(&client, worker, &done).await;
    started.elapsed()
}

/// The jobs wait when the worker comes.
async fn full_drain<S: BenchStore>() -> Duration {
    let client = Client::shared(S::open().await);
    fill(client.backend(), jobs(), |job| job).await;
    drain::<S>(&client).await
}

async fn keyed_drain<S: BenchStore>() -> Duration {
    let client = Client::shared(S::open().await);
    let next = Cell::new(0);
    let key = |job: JobDraft| {
        next.set((next.get() + 1) % scaled(KEYS));
        job.partition_key(format!("key {}", next.get()))
    };
    fill(client.backend(), jobs(), key).await;
    drain::<S>(&client).await
}

/// The time a new worker takes to complete all jobs.
pub(crate) async fn drain<S: BenchStore>(client: &Client) -> Duration {
    let started = Instant::now();
    let (worker, done) = start::<S>(client).await;
    finish(client, worker, &done).await;
    started.elapsed()
}

/// A worker whose handler does nothing but tell when it has been called for the last job.
async fn start<S: BenchStore>(client: &Client) -> (RunningWorker, Arc<Notify>) {
    let called = Arc::new(AtomicUsize::new(0));
    let done = Arc::new(Notify::new());
    let last = Arc::clone(&done);
    let handler = move |_job: Noop, _ctx: Ctx| {
        if called.fetch_add(1, Ordering::Relaxed) + 1 == jobs() {
            last.notify_one();
        }
        async { JobResult::Ok(()) }
    };
    let worker = Worker::new(client.clone()).concurrency(S::SLOTS).handle(handler);
    (worker.start().await.expect("a worker starts"), done)
}

/// Waits for the last job, and until its ack is stored.
async fn finish(client: &Client, worker: RunningWorker, done: &Notify) {
    done.notified().await;
    worker.drain(Duration::from_secs(10)).await;
    let queues = client.backend().all_queues().await.expect("list_queues");
    let completed: u64 =
        queues.iter().map(|queue| queue.counts.of_state(State::Completed).value).sum();
    assert_eq!(completed, jobs() as u64);
}
