//! What each part of a job's life costs: time, CPU of the server, bytes of its log.

use std::cell::Cell;
use std::time::Duration;

use queuekit_benches::{fill, request, scaled};
use queuekit_core::{Ack, Backend, JobDraft, LeaseToken, LeaseTtl};
use queuekit_postgres::PostgresStore;
use queuekit_postgres::tokio_postgres::Client;

use crate::meter::{Meter, Spent};
use crate::server::{connect, database};

/// Jobs per call: as many as a store takes.
const BATCH: usize = 1000;
const KEYS: usize = 10_000;

const PARTS: [&str; 4] = ["enqueue", "reserve", "heartbeat, once", "ack"];

pub(crate) async fn print() {
    let jobs = scaled(50_000).next_multiple_of(BATCH);
    println!("\n{jobs} jobs, {BATCH} per call, one call after the other:\n");
    println!("| jobs | part | us/job | CPU us/job | WAL B/job |");
    println!("|---|---|---|---|---|");
    let next = Cell::new(0);
    let keyed = |job: JobDraft| {
        next.set((next.get() + 1) % scaled(KEYS));
        job.partition_key(format!("key {}", next.get()))
    };
    print_of("plain", jobs, &measure(jobs, |job| job).await);
    let with = format!("of {} keys", scaled(KEYS));
    print_of(&with, jobs, &measure(jobs, keyed).await);
}

fn print_of(which: &str, jobs: usize, spent: &[Spent; 4]) {
    let line = |part: &str, time: Duration, cpu: Duration, wal: u64| {
        let [time, cpu] = [time, cpu].map(|sum| sum.as_secs_f64() * 1e6 / jobs as f64);
        let wal = wal as f64 / jobs as f64;
        println!("| {which} | {part} | {time:.1} | {cpu:.1} | {wal:.0} |");
    };
    for (part, spent) in PARTS.iter().zip(spent) {
        line(part, spent.time, spent.cpu, spent.wal);
    }
    // A job that ends soon has no heartbeat.
    let cycle = [&spent[0], &spent[1], &spent[3]];
    let (time, cpu) = (cycle.iter().map(|s| s.time).sum(), cycle.iter().map(|s| s.cpu).sum());
    line("cycle without heartbeat", time, cpu, cycle.iter().map(|s| s.wal).sum());
}

async fn measure(jobs: usize, describe: impl Fn(JobDraft) -> JobDraft) -> [Spent; 4] {
    let url = database().await;
    let store = PostgresStore::connect_url(&url).await.expect("the store opens");
    let admin = connect(&url).await;
    // Else the first to touch a page after a checkpoint writes all of it to the log.
    admin.batch_execute("CHECKPOINT").await.expect("checkpoint");
    let mut spent = [Spent::default(); 4];
    let meter = Meter::start(&admin).await;
    fill(&store, jobs, describe).await;
    spent[0] = meter.stop().await;
    let mut completed = 0;
    // With keys, only the first of each can be reserved at a time.
    while completed < jobs {
        let leased = reserve_all(&store, &admin, &mut spent[1]).await;
        assert!(!leased.is_empty(), "{completed} of {jobs} jobs were completed");
        completed += leased.len();
        extend_all(&store, &admin, &leased, &mut spent[2]).await;
        ack_all(&store, &admin, &leased, &mut spent[3]).await;
    }
    store.close().await.expect("close");
    spent
}

async fn reserve_all(store: &dyn Backend, admin: &Client, spent: &mut Spent) -> Vec<LeaseToken> {
    let mut leased = Vec::new();
    let meter = Meter::start(admin).await;
    loop {
        let reserved = store.reserve(&request(BATCH)).await.expect("reserve");
        if reserved.leases.is_empty() {
            break;
        }
        leased.extend(reserved.leases.into_iter().map(|lease| lease.token));
    }
    add(spent, meter.stop().await);
    leased
}

async fn extend_all(store: &dyn Backend, admin: &Client, leased: &[LeaseToken], spent: &mut Spent) {
    let leases = store.capabilities().leases.expect("the store has Leases");
    let meter = Meter::start(admin).await;
    for leased in leased.chunks(BATCH) {
        leases.extend(leased, LeaseTtl::default()).await.expect("extend");
    }
    add(spent, meter.stop().await);
}

async fn ack_all(store: &dyn Backend, admin: &Client, leased: &[LeaseToken], spent: &mut Spent) {
    let meter = Meter::start(admin).await;
    for leased in leased.chunks(BATCH) {
        let acks: Vec<Ack> = leased.iter().cloned().map(Ack::new).collect();
        store.ack(&acks).await.expect("ack");
    }
    add(spent, meter.stop().await);
}

fn add(sum: &mut Spent, more: Spent) {
    sum.time += more.time;
    sum.cpu += more.cpu;
    sum.wal += more.wal;
}
