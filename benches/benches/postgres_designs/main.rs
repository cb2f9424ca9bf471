//! Compares designs of a queue in Postgres by their bare cycles of reserve and ack:
//! `cargo bench -p queuekit-benches --bench postgres_designs`.
//!
//! The designs take turns; printed are medians of all rounds. The server is that of the benchmark
//! `postgres`.
#![expect(clippy::expect_used, reason = "a measurement that fails has no figure to give")]
#![expect(clippy::print_stdout, reason = "figures are printed")]

mod design;
#[path = "../postgres/meter.rs"]
mod meter;
#[path = "../postgres/server.rs"]
mod server;

use std::time::{Duration, Instant};

use design::{DESIGNS, Design};
use meter::Meter;
use queuekit_benches::{is_asked_for, scaled};
use server::connect;
use tokio::runtime::Runtime;

/// Jobs per call.
const BATCH: usize = 500;
/// How many reserve at the same time.
const RESERVERS: [usize; 2] = [1, 4];
const ROUNDS: usize = 3;
/// The reserves whose median is printed.
const RESERVES: usize = 40;
const RESERVED: usize = 100;

fn main() {
    if !is_asked_for("postgres/designs") {
        return;
    }
    Runtime::new().expect("a runtime can be made").block_on(async {
        if server::is_there().await {
            compare().await;
        }
    });
}

async fn compare() {
    let jobs = scaled(50_000).next_multiple_of(1000);
    let mut drains = vec![Vec::new(); DESIGNS.len() * RESERVERS.len()];
    let mut reserves = vec![[Vec::new(), Vec::new()]; DESIGNS.len()];
    // One round is enough to see that it works.
    for _ in 0..ROUNDS.min(jobs / 10_000).max(1) {
        for (at, design) in DESIGNS.iter().enumerate() {
            for (with, reservers) in RESERVERS.into_iter().enumerate() {
                let figures = drain(*design, reservers, jobs).await;
                println!("{}, {reservers} reservers: {figures:.1?}", design.name);
                drains[at * RESERVERS.len() + with].push(figures);
            }
            for (with, held) in [false, true].into_iter().enumerate() {
                let time = reserve(*design, jobs, held).await;
                println!("{}, snapshot held {held}: reserve {time:.2} ms", design.name);
                reserves[at][with].push(time);
            }
        }
    }
    println!("\n| design | reservers | jobs/s | CPU us/job | WAL B/job | dead rows/job | B/job |");
    println!("|---|---|---|---|---|---|---|");
    for (at, figures) in drains.iter().enumerate() {
        let (name, reservers) = (DESIGNS[at / 2].name, RESERVERS[at % RESERVERS.len()]);
        let [rate, cpu, wal, dead, size] = [0, 1, 2, 3, 4]
            .map(|column| median(figures.iter().map(|figures: &[f64; 5]| figures[column])));
        println!(
            "| {name} | {reservers} | {rate:.0} | {cpu:.1} | {wal:.0} | {dead:.1} | {size:.0} |"
        );
    }
    println!("\n| design | reserve of {RESERVED}, ms | {jobs} dead rows, held snapshot | ratio |");
    println!("|---|---|---|---|");
    for (design, [none, held]) in DESIGNS.iter().zip(&reserves) {
        let [none, held] = [none, held].map(|times| median(times.iter().copied()));
        println!("| {} | {none:.2} | {held:.2} | {:.2} |", design.name, held / none);
    }
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_unstable_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Jobs per second; of each job the CPU of the server in us, its bytes of WAL, and the dead rows
/// and the bytes on disk that it leaves.
async fn drain(design: Design, reservers: usize, jobs: usize) -> [f64; 5] {
    let url = server::database().await;
    design.create(&url).await;
    design.fill(&url, jobs, 0).await;
    let admin = connect(&url).await;
    for prepare in ["VACUUM ANALYZE", "CHECKPOINT"] {
        admin.batch_execute(prepare).await.expect("the tables are made ready");
    }
    let mut all = Vec::new();
    for _ in 0..reservers {
        all.push(design.reserver(&url).await);
    }
    let meter = Meter::start(&admin).await;
    let each = |reserver: design::Reserver| {
        tokio::spawn(async move {
            let mut completed = 0;
            loop {
                match reserver.ack(reserver.reserve(BATCH).await).await {
                    0 => return (reserver, completed),
                    jobs => completed += jobs,
                }
            }
        })
    };
    let running: Vec<_> = all.into_iter().map(each).collect();
    let mut ended = Vec::new();
    for reserver in running {
        ended.push(reserver.await.expect("a reserver ends well"));
    }
    let spent = meter.stop().await;
    assert_eq!(ended.iter().map(|(_, jobs)| jobs).sum::<usize>(), jobs);
    for (reserver, _) in ended {
        reserver.close().await;
    }
    let [dead, size] = left(&admin).await;
    let per_job = |sum: f64| sum / jobs as f64;
    let (time, cpu) = (spent.time.as_secs_f64(), spent.cpu.as_secs_f64());
    [
        jobs as f64 / time,
        per_job(cpu * 1e6),
        per_job(spent.wal as f64),
        per_job(dead),
        per_job(size),
    ]
}

/// Dead rows, and the size of all tables.
async fn left(admin: &queuekit_postgres::tokio_postgres::Client) -> [f64; 2] {
    // Connections report their statistics when they end.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let sum = "SELECT sum(n_dead_tup)::bigint, sum(pg_total_relation_size(relid))::bigint
        FROM pg_stat_user_tables";
    let row = admin.query_one(sum, &[]).await.expect("the server tells");
    [0, 1].map(|column| row.get::<_, i64>(column) as f64)
}

/// The median of some reserves in ms, after `jobs` jobs were completed while a snapshot was held or
/// not.
async fn reserve(design: Design, jobs: usize, held: bool) -> f64 {
    let url = server::database().await;
    design.create(&url).await;
    let holder = connect(&url).await;
    if held {
        let hold = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class";
        holder.batch_execute(hold).await.expect("it holds a snapshot");
    }
    design.fill(&url, jobs, 0).await;
    let reserver = design.reserver(&url).await;
    while reserver.ack(reserver.reserve(BATCH).await).await > 0 {}
    design.fill(&url, RESERVES * RESERVED, jobs).await;
    let mut times = Vec::new();
    for _ in 0..RESERVES {
        let started = Instant::now();
        let reserved = reserver.reserve(RESERVED).await;
        times.push(started.elapsed().as_secs_f64() * 1e3);
        assert_eq!(reserver.ack(reserved).await, RESERVED);
    }
    reserver.close().await;
    median(times.into_iter())
}
