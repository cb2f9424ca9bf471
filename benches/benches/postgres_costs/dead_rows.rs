//! The cost of a reserve while a snapshot is held, so that vacuum removes no row (contract R7.2).

use std::cell::Cell;
use std::time::{Duration, Instant};

use queuekit_benches::{fill, request, scaled};
use queuekit_core::queue::{Order, QueuePatch};
use queuekit_core::{Ack, Backend, JobDraft, LeaseToken, LeaseTtl, QueueName};
use queuekit_postgres::PostgresStore;

use crate::server::{connect, database};

/// Jobs per call of a cycle.
const BATCH: usize = 100;
/// The cycles whose median is printed.
const CYCLES: usize = 100;
const ROUNDS: usize = 3;

/// The medians of the calls of whole cycles: enqueue, reserve, heartbeat, ack.
type Medians = [f64; 4];

const CALLS: [&str; 4] = ["enqueue", "reserve", "heartbeat", "ack"];

/// The kind of jobs.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Plain,
    /// Jobs of this number of partition keys.
    Keys(usize),
    /// Jobs of this number of partition keys, in a fair queue.
    Fair(usize),
}

pub(crate) async fn print() {
    for shape in [Shape::Plain, Shape::Keys(1000), Shape::Fair(1000)] {
        print_shape(shape).await;
    }
}

async fn print_shape(shape: Shape) {
    let jobs = scaled(50_000);
    let [mut none, mut held] = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        none.push(measure(shape, jobs, false).await);
        held.push(measure(shape, jobs, true).await);
    }
    println!(
        "\n{shape:?}: calls of {BATCH} jobs in whole cycles, medians, after {jobs} jobs were \
         completed:\n"
    );
    println!("| call | ms | under a held snapshot | ratio |");
    println!("|---|---|---|---|");
    for (at, call) in CALLS.iter().enumerate() {
        let of = |rounds: &[Medians]| median(rounds.iter().map(|medians| medians[at]).collect());
        let (none, held) = (of(&none), of(&held));
        println!("| {call} | {none:.2} | {held:.2} | {:.2} |", held / none);
    }
}

/// Measures after `jobs` jobs were completed, all while the snapshot was held.
async fn measure(shape: Shape, jobs: usize, held: bool) -> Medians {
    let url = database().await;
    let store = PostgresStore::connect_url(&url).await.expect("the store opens");
    if let Shape::Fair(_) = shape {
        let admin = store.capabilities().admin.expect("the store has Admin");
        let patch = QueuePatch::default().order(Order::Fair);
        admin.configure(&QueueName::default(), &patch).await.expect("the queue is fair");
    }
    let next = Cell::new(0);
    let job = |job: JobDraft| match shape {
        Shape::Plain => job,
        Shape::Keys(keys) | Shape::Fair(keys) => {
            next.set(next.get() + 1);
            job.partition_key(format!("key {}", next.get() % keys))
        }
    };
    let holder = connect(&url).await;
    if held {
        let hold = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class";
        holder.batch_execute(hold).await.expect("it holds a snapshot");
    }
    fill(&store, jobs, job).await;
    let mut ended = Vec::new();
    while cycle(&store, 500, &mut ended).await > 0 {}
    let mut times: [Vec<f64>; 4] = Default::default();
    for _ in 0..CYCLES {
        let started = Instant::now();
        fill(&store, BATCH, job).await;
        let mut calls = vec![started.elapsed()];
        assert_eq!(cycle(&store, BATCH, &mut calls).await, BATCH);
        for (times, call) in times.iter_mut().zip(calls) {
            times.push(call.as_secs_f64() * 1e3);
        }
    }
    store.close().await.expect("close");
    times.map(median)
}

/// Reserves, extends and completes up to `limit` jobs. Returns how many there were.
async fn cycle(store: &dyn Backend, limit: usize, calls: &mut Vec<Duration>) -> usize {
    let leases = store.capabilities().leases.expect("the store has Leases");
    let started = Instant::now();
    let reserved = store.reserve(&request(limit)).await.expect("reserve");
    calls.push(started.elapsed());
    let tokens: Vec<LeaseToken> = reserved.leases.into_iter().map(|lease| lease.token).collect();
    if tokens.is_empty() {
        return 0;
    }
    let started = Instant::now();
    leases.extend(&tokens, LeaseTtl::default()).await.expect("extend");
    calls.push(started.elapsed());
    let acks: Vec<Ack> = tokens.into_iter().map(Ack::new).collect();
    let started = Instant::now();
    let outcomes = store.ack(&acks).await.expect("ack");
    calls.push(started.elapsed());
    outcomes.len()
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures[figures.len() / 2]
}
