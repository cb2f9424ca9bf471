//! The cost of a reserve among jobs that it does not want (contract R5.9).

use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::Criterion;
use queuekit_core::queue::{Keep, Retention};
use queuekit_core::{Backend, Lease, Nack, NackKind, Priority, QueueName, QueuePatch};

use crate::BenchStore;
use crate::reserve::drain;
use crate::setup::{CHUNK, fill, group, request, runtime, scaled};

/// Jobs per reserve: as many as a worker of default size has slots.
const LIMIT: usize = 10;

const HOUR: Duration = Duration::from_secs(3600);

/// The cost of one reserve in queues that differ in what else they hold, and its ratio to the
/// cost in the one that holds nothing else.
pub(crate) fn backlog<S: BenchStore>(criterion: &mut Criterion) {
    let runtime = runtime();
    let [wanted, many, huge] = [1000, 100_000, 1_000_000].map(scaled);
    let mut costs = Vec::new();
    for (name, beside) in [
        (format!("{wanted} waiting"), Beside::Nothing),
        (format!("{many} waiting"), Beside::Waiting(many - wanted)),
        (format!("{huge} waiting"), Beside::Waiting(huge - wanted)),
        (format!("{wanted} waiting, {many} future"), Beside::Future(many)),
        (format!("{wanted} waiting, {huge} future"), Beside::Future(huge)),
        (format!("{wanted} waiting, {many} finished"), Beside::Finished(many)),
        (format!("{wanted} waiting, {huge} finished"), Beside::Finished(huge)),
        (format!("{wanted} waiting, {huge} of one key"), Beside::OneKey(huge)),
    ] {
        let mut group = group::<S>(criterion, "backlog");
        let mut calls = Vec::new();
        let mut store = None;
        group.bench_function(&name, |bencher| {
            let store =
                store.get_or_insert_with(|| runtime.block_on(open_with::<S>(wanted, beside)));
            bencher.iter_custom(|times| {
                let measured = runtime.block_on(measure(store, times));
                calls.extend_from_slice(&measured);
                measured.iter().sum()
            });
        });
        calls.sort_unstable();
        // A single call, to see whether it works, gives no figure.
        if calls.len() >= 100 {
            costs.push((name, calls[calls.len() / 2]));
        }
    }
    print_ratios(&costs);
}

fn print_ratios(costs: &[(String, Duration)]) {
    let Some((_, least)) = costs.first() else {
        return;
    };
    println!("one reserve of {LIMIT} jobs, median, and its ratio to the first:");
    for (name, median) in costs {
        let ratio = median.as_secs_f64() / least.as_secs_f64();
        println!("  {name}: {median:?}, {ratio:.2}");
    }
}

/// What a queue holds besides the jobs that are wanted.
#[derive(Clone, Copy)]
enum Beside {
    Nothing,
    /// More jobs that could be reserved.
    Waiting(usize),
    /// More urgent jobs whose time has not come.
    Future(usize),
    /// Completed jobs.
    Finished(usize),
    /// Jobs of one partition key, before all others: one of them can be reserved at a time.
    OneKey(usize),
}

async fn open_with<S: BenchStore>(wanted: usize, beside: Beside) -> Arc<dyn Backend> {
    let store = S::open().await;
    match beside {
        Beside::Nothing => {}
        Beside::Waiting(jobs) => fill(&store, jobs, |job| job).await,
        Beside::Future(jobs) => {
            fill(&store, jobs, |job| job.priority(Priority::HIGH).delay(HOUR)).await;
        }
        Beside::OneKey(jobs) => fill(&store, jobs, |job| job.partition_key("one")).await,
        Beside::Finished(jobs) => {
            keep_all(&store).await;
            fill(&store, jobs, |job| job).await;
            drain(&store, CHUNK).await;
        }
    }
    fill(&store, wanted, |job| job).await;
    store
}

/// Otherwise retention would take the finished jobs away.
async fn keep_all(store: &dyn Backend) {
    let retention = Retention::default().done(Keep::ALL);
    let patch = QueuePatch::default().retention(retention);
    let admin = store.capabilities().admin.expect("the store has Admin");
    admin.configure(&QueueName::default(), &patch).await.expect("configure");
}

/// The time of each of `times` reserves; between them the jobs are released.
async fn measure(store: &dyn Backend, times: u64) -> Vec<Duration> {
    let mut calls = Vec::new();
    for _ in 0..times {
        let request = request(LIMIT);
        let started = Instant::now();
        let reserved = store.reserve(&request).await.expect("reserve");
        calls.push(started.elapsed());
        let release = |lease: Lease| Nack::new(lease.token, NackKind::Release, "", Duration::ZERO);
        assert_eq!(reserved.leases.len(), LIMIT);
        let nacks: Vec<_> = reserved.leases.into_iter().map(release).collect();
        let outcomes = store.nack(&nacks).await.expect("nack");
        assert_eq!(outcomes.len(), LIMIT);
    }
    calls
}
