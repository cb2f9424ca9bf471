//! How many jobs a second a worker runs when store and handlers cost next to nothing: the worker's
//! own cost. `cargo run --release -p queuekit-worker --example noop_jobs -- [JOBS] [CONCURRENCY]`
#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

use std::time::Instant;

use queuekit_core::memory::MemoryStore;
use queuekit_core::{Client, JobDraft, Result};
use queuekit_worker::{Ctx, JobResult, Worker};

#[derive(serde::Serialize, serde::Deserialize)]
struct Noop {
    number: usize,
}

impl queuekit_core::Payload for Noop {
    const KIND: &'static str = "noop";
}

async fn noop(_job: Noop, _ctx: Ctx) -> JobResult {
    Ok(())
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut numbers = std::env::args().skip(1).filter_map(|number| number.parse().ok());
    let jobs: usize = numbers.next().unwrap_or(50_000);
    let concurrency: usize = numbers.next().unwrap_or(500);
    for _ in 0..5 {
        let client = Client::new(MemoryStore::new());
        for from in (0..jobs).step_by(1000) {
            let batch = (from..jobs.min(from + 1000)).map(|number| JobDraft::of(&Noop { number }));
            client.enqueue_all(batch).await?.ids()?;
        }
        let start = Instant::now();
        let worker = Worker::new(client).concurrency(concurrency).handle(noop);
        let summary = worker.run_until_idle().await?;
        let took = start.elapsed();
        let rate = summary.completed as f64 / took.as_secs_f64();
        println!("{} jobs in {took:.1?}: {rate:.0} a second", summary.completed);
    }
    Ok(())
}
