//! The cost of a call among many waiting jobs.

use std::time::{Duration, Instant};

use queuekit_benches::{fill, request, scaled};
use queuekit_core::{Ack, Backend};
use queuekit_redis::RedisStore;

use crate::server;

/// Jobs per call: as many as a worker of default size has slots.
const LIMIT: usize = 10;

/// Calls of each kind.
const CALLS: usize = 2000;

const KINDS: [&str; 3] = ["enqueue", "reserve", "ack"];

pub(crate) async fn print() {
    let [few, many] = [1000, 1_000_000].map(scaled);
    let (beside_few, beside_many) = (open_with(few).await, open_with(many).await);
    let [mut first, mut second] = [const { [const { Vec::new() }; 3] }; 2];
    // In turns, so that other load of the machine affects both.
    for _ in 0..scaled(CALLS) {
        measure(&beside_few, &mut first).await;
        measure(&beside_many, &mut second).await;
    }
    println!("\none call of {LIMIT} jobs, median, and the ratio:\n");
    println!("| call | {few} jobs wait | {many} wait | ratio |");
    println!("|---|---|---|---|");
    for ((kind, first), second) in KINDS.iter().zip(&mut first).zip(&mut second) {
        let (first, second) = (median(first), median(second));
        let ratio = second.as_secs_f64() / first.as_secs_f64();
        println!("| {kind} | {first:?} | {second:?} | {ratio:.2} |");
    }
}

async fn open_with(waiting: usize) -> RedisStore {
    let store = RedisStore::connect_url(&server::empty().await).await.expect("the store opens");
    fill(&store, waiting, |job| job).await;
    store
}

/// Each round adds as many jobs as it completes.
async fn measure(store: &dyn Backend, times: &mut [Vec<Duration>; 3]) {
    let [enqueue, reserve, ack] = times;
    let started = Instant::now();
    fill(store, LIMIT, |job| job).await;
    enqueue.push(started.elapsed());

    let request = request(LIMIT);
    let started = Instant::now();
    let leases = store.reserve(&request).await.expect("reserve").leases;
    reserve.push(started.elapsed());
    assert_eq!(leases.len(), LIMIT);

    let acks: Vec<Ack> = leases.into_iter().map(|lease| Ack::new(lease.token)).collect();
    let started = Instant::now();
    store.ack(&acks).await.expect("ack");
    ack.push(started.elapsed());
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
