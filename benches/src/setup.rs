//! What every benchmark needs: a runtime, jobs, a request for them, and how much of it.

use std::env;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion};
use queuekit_core::{
    Backend, JobDraft, Lease, LeaseTtl, NewJob, Payload, QueueName, Reserve, WorkerId,
};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use crate::BenchStore;

/// Most jobs in one call.
pub(crate) const CHUNK: usize = 1000;

/// A job that does nothing, with a payload of a few bytes of JSON.
#[derive(Serialize, Deserialize)]
pub(crate) struct Noop {
    pub(crate) number: usize,
}

impl Payload for Noop {
    const KIND: &'static str = "noop";
}

/// A runtime as `#[tokio::main]` makes it.
pub(crate) fn runtime() -> Runtime {
    Runtime::new().expect("a runtime can be made")
}

/// A group whose name begins with that of the store; quick to warm up, because most benchmarks
/// open and fill a store for each sample.
pub(crate) fn group<'a, S: BenchStore>(
    criterion: &'a mut Criterion,
    name: &str,
) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(format!("{}/{name}", S::NAME));
    group.sample_size(20);
    group.warm_up_time(Duration::from_millis(300));
    group.measurement_time(Duration::from_secs(if is_quick() { 1 } else { 4 }));
    group
}

/// The given number, or a hundredth of it where it only matters that the benchmark works: with
/// `BENCH_QUICK` set, and when criterion runs each benchmark once (`cargo test --benches`).
pub fn scaled(full: usize) -> usize {
    if is_quick() { (full / 100).max(10) } else { full }
}

fn is_quick() -> bool {
    let args: Vec<String> = env::args().collect();
    let has = |wanted: &str| args.iter().any(|arg| arg == wanted);
    env::var_os("BENCH_QUICK").is_some() || has("--test") || !has("--bench")
}

/// Stores jobs, as many per call as it takes.
pub async fn fill(store: &dyn Backend, jobs: usize, describe: impl Fn(JobDraft) -> JobDraft) {
    let job = |number| describe(Noop { number }.into()).build().expect("a valid job");
    for first in (0..jobs).step_by(CHUNK) {
        let chunk: Vec<NewJob> = (first..jobs.min(first + CHUNK)).map(job).collect();
        let outcomes = store.enqueue(&chunk).await.expect("enqueue");
        assert!(outcomes.iter().all(|outcome| outcome.is_created()));
    }
}

/// Leases up to `limit` jobs of the default queue.
pub(crate) async fn reserve(store: &dyn Backend, limit: usize) -> Vec<Lease> {
    let reserved = store.reserve(&request(limit)).await.expect("reserve");
    reserved.leases
}

/// A request for up to `limit` jobs of the default queue.
pub fn request(limit: usize) -> Reserve {
    let worker = WorkerId::new("bench").expect("a valid name");
    let request = Reserve::new(QueueName::default(), limit, LeaseTtl::default(), worker);
    request.expect("the system has randomness")
}
