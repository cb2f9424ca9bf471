//! A job in steps: what has succeeded is not done again, and a wait of days needs no worker.
//!
//! The carrier is closed when the order is shipped for the first time. The retry ships it, and
//! charges nobody again. The example moves the store's clock by hand, so it need not wait.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use queuekit::memory::{ManualClock, MemoryStore};
use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

const THREE_DAYS: Duration = Duration::from_secs(3 * 24 * 3600);

static CHARGES: AtomicU32 = AtomicU32::new(0);
static SHIPMENTS: AtomicU32 = AtomicU32::new(0);

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "fulfil")]
struct Fulfil {
    order: u32,
}

/// What the customer was charged with.
#[derive(Serialize, Deserialize)]
struct Receipt {
    number: u32,
}

async fn fulfil(job: Fulfil, ctx: Ctx) -> JobResult<u32> {
    println!("attempt {} at order {}", ctx.attempt(), job.order);
    let receipt = ctx.checkpoint("charge", charge).await?;
    ctx.checkpoint("ship", || ship(job.order, &receipt)).await?;
    ctx.sleep("delivery", THREE_DAYS).await?;
    println!("  asks for a review of order {}", job.order);
    Ok(receipt.number)
}

async fn charge() -> JobResult<Receipt> {
    let number = 100 + CHARGES.fetch_add(1, Ordering::SeqCst);
    println!("  charges, with receipt {number}");
    Ok(Receipt { number })
}

async fn ship(order: u32, receipt: &Receipt) -> JobResult {
    if SHIPMENTS.fetch_add(1, Ordering::SeqCst) == 0 {
        println!("  cannot ship");
        return Err("the carrier is closed".into());
    }
    println!("  ships order {order}, receipt {}", receipt.number);
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let clock = ManualClock::default();
    let client = Client::new(MemoryStore::with_clock(clock.clone()));
    let worker = || {
        let worker = Worker::new(client.clone()).handle(fulfil);
        worker.retry(RetryPolicy::Fixed(Duration::ZERO))
    };
    let id = client.enqueue(Fulfil { order: 7 }).await?;

    worker().run_until_idle().await?;
    let job = client.jobs().get(id).await?.ok_or("the job is stored")?;
    println!("the job sleeps, and takes no worker");
    assert_eq!(job.state, State::Pending);

    println!("three days later:");
    clock.advance(THREE_DAYS);
    worker().run_until_idle().await?;
    let job = client.jobs().get(id).await?.ok_or("the job is stored")?;
    assert_eq!(job.result::<u32>()?, 100);
    assert_eq!((CHARGES.load(Ordering::SeqCst), SHIPMENTS.load(Ordering::SeqCst)), (1, 2));
    println!("the job is {}, after {} attempts and one sleep", job.status, job.attempts);
    Ok(())
}
