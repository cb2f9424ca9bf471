//! What happens to a failing job: retries, dead letters, and how to bring one back.
//!
//! The example moves the store's clock by hand, so it need not wait for the backoff.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use queuekit::memory::ManualClock;
use queuekit::memory::MemoryStore;
use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "charge")]
struct Charge {
    card: String,
}

/// A bank that can be unreachable.
#[derive(Clone, Default)]
struct Bank {
    is_down: Arc<AtomicBool>,
}

impl Handler<Charge> for Bank {
    type Output = String;

    async fn call(&self, job: Charge, ctx: Ctx) -> JobResult<String> {
        println!("  attempt {} of {}: card {:?}", ctx.attempt(), ctx.max_attempts(), job.card);
        // No retry can help, so the job is dead-lettered at once.
        if job.card == "stolen" {
            return Err(JobError::fatal("the card was reported stolen"));
        }
        // The bank says when to ask again. This takes precedence over the policy.
        if job.card == "busy" && ctx.attempt() == 1 {
            return Err(JobError::retry_after("too many requests", Duration::from_secs(90)));
        }
        // Any error with `?` fails the attempt, and the job is retried as the policy says.
        let receipt = self.pay(&job.card)?;
        Ok(receipt)
    }
}

impl Bank {
    fn pay(&self, card: &str) -> io::Result<String> {
        if self.is_down.load(Ordering::Relaxed) {
            return Err(io::Error::other("the bank does not answer"));
        }
        Ok(format!("receipt of {card}"))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let clock = ManualClock::default();
    let client = Client::new(MemoryStore::with_clock(clock.clone()));
    let bank = Bank::default();
    let policy = RetryPolicy::list([10, 60].map(Duration::from_secs));
    let worker = || {
        let options = KindOptions::new().retry(policy.clone());
        Worker::new(client.clone()).concurrency(1).handle_with(bank.clone(), options)
    };

    println!("the bank is down:");
    bank.is_down.store(true, Ordering::Relaxed);
    let mut jobs = Vec::new();
    for card in ["gold", "stolen", "busy"] {
        let job = Charge { card: card.into() };
        jobs.push((card, client.enqueue(job).max_attempts(3).await?));
    }
    worker().run_until_idle().await?;
    show(&client, &jobs).await?;

    for wait in [10, 60] {
        println!("{wait} s later:");
        clock.advance(Duration::from_secs(wait));
        worker().run_until_idle().await?;
    }
    show(&client, &jobs).await?;

    println!("the bank is back; the dead letters of its time are brought back with all attempts:");
    bank.is_down.store(false, Ordering::Relaxed);
    let filter = JobFilter::default().status(State::Dead).error_contains("does not answer");
    let totals = client.jobs().bulk(filter, BulkAction::Retry).await?;
    println!("  {} of {} retried", totals.changed, totals.matched);
    clock.advance(Duration::from_secs(90));
    worker().run_until_idle().await?;
    show(&client, &jobs).await?;
    Ok(())
}

/// Prints the status of each job and its errors, which are kept after a dead-lettering or a retry.
async fn show(client: &Client, jobs: &[(&str, JobId)]) -> Result<(), Box<dyn Error>> {
    for (card, id) in jobs {
        let job = client.jobs().get(*id).await?.ok_or("the job is stored")?;
        let errors: Vec<_> = job.errors.iter().map(|failure| failure.error.as_str()).collect();
        println!("  -> {card}: {}, errors so far {errors:?}", job.status);
    }
    Ok(())
}
