//! How long a job waits that comes to a worker with nothing to do.

use std::time::{Duration, Instant};

use criterion::{Criterion, SamplingMode};
use queuekit_core::Client;
use queuekit_worker::{Ctx, JobResult, Worker};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{self, UnboundedReceiver};

use crate::BenchStore;
use crate::setup::{Noop, group, runtime};

/// After which a worker has settled its job and sleeps.
const IDLE_AFTER: Duration = Duration::from_millis(2);

/// From before the enqueue until the handler starts, in an idle worker that polls once a second.
pub(crate) fn pickup<S: BenchStore>(criterion: &mut Criterion) {
    let runtime = runtime();
    let mut group = group::<S>(criterion, "pickup");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    let mut latencies = Vec::new();
    group.bench_function("idle worker", |bencher| {
        let client = Client::shared(runtime.block_on(S::open()));
        let mut starts = idle_worker(&runtime, &client);
        bencher.iter_custom(|jobs| {
            let measure = measure(&client, &mut starts, jobs);
            let measured = runtime.block_on(measure);
            latencies.extend_from_slice(&measured);
            measured.iter().sum()
        });
    });
    print_latencies("idle pickup", &mut latencies);
}

pub(crate) fn print_latencies(what: &str, latencies: &mut [Duration]) {
    latencies.sort_unstable();
    if let Some(max) = latencies.last() {
        let at = |percent: usize| latencies[(latencies.len() - 1) * percent / 100];
        let (jobs, p50, p99) = (latencies.len(), at(50), at(99));
        println!("{what} over {jobs} jobs: p50 {p50:?}, p99 {p99:?}, max {max:?}");
    }
}

/// A worker whose handler tells when it starts; it ends when the receiver is gone.
pub(crate) fn idle_worker(runtime: &Runtime, client: &Client) -> UnboundedReceiver<Instant> {
    let (send, starts) = mpsc::unbounded_channel();
    let worker = Worker::new(client.clone()).handle(move |_job: Noop, _ctx: Ctx| {
        let sent = send.send(Instant::now());
        async move { JobResult::Ok(sent?) }
    });
    runtime.spawn(async move {
        let worker = worker.start().await.expect("a worker starts");
        // The runtime ends it.
        std::future::pending::<()>().await;
        drop(worker);
    });
    starts
}

async fn measure(
    client: &Client,
    starts: &mut UnboundedReceiver<Instant>,
    jobs: u64,
) -> Vec<Duration> {
    let mut latencies = Vec::new();
    for number in 0..jobs as usize {
        tokio::time::sleep(IDLE_AFTER).await;
        let before = Instant::now();
        client.enqueue(Noop { number }).await.expect("enqueue");
        let start = starts.recv().await.expect("the handler lives");
        latencies.push(start - before);
    }
    latencies
}
