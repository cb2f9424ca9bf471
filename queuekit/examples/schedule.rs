//! Delayed and prioritized jobs, and the order in which they run.
//!
//! Due jobs run by priority, then by time, then by sequence. A delay decides when a job is due,
//! whatever its priority. The example moves the store's clock by hand, so that an hour passes at
//! once. With a store opened by `queuekit::connect`, the same happens in real time.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use queuekit::memory::ManualClock;
use queuekit::memory::MemoryStore;
use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "step")]
struct Step {
    name: String,
}

fn step(name: &str) -> Step {
    Step { name: name.into() }
}

async fn run(job: Step, _ctx: Ctx) -> JobResult {
    println!("  ran: {}", job.name);
    Ok(())
}

#[tokio::main]
async fn main() -> queuekit::Result<()> {
    const HOUR: Duration = Duration::from_secs(3600);
    let clock = ManualClock::default();
    let client = Client::new(MemoryStore::with_clock(clock.clone()));

    client.enqueue(step("sweep the floor")).priority(Priority::LOW).await?;
    client.enqueue(step("answer the mail")).await?;
    client.enqueue(step("answer more mail")).await?;
    client.enqueue(step("put out the fire")).priority(Priority::CRITICAL).await?;
    client.enqueue(step("call back, urgently")).priority(Priority::HIGH).delay(HOUR).await?;
    client.enqueue(step("close the shop")).delay(2 * HOUR).await?;

    println!("now (low last, equals in sequence, delayed ones not yet):");
    // Runs one job at a time, so that the output shows the order.
    let worker = || Worker::new(client.clone()).concurrency(1).handle(run);
    worker().run_until_idle().await?;

    let waiting = JobFilter::default().status(State::Pending);
    for job in client.jobs().list(&waiting).await?.items {
        let wait = job.scheduled_at.since(job.created_at);
        println!("  {}: due {} min after its enqueue", job.status, wait.as_secs() / 60);
    }
    for hour in ["one hour later:", "two hours later:"] {
        println!("{hour}");
        clock.advance(HOUR);
        worker().run_until_idle().await?;
    }
    Ok(())
}
