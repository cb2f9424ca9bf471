//! Proving that a handler is idempotent: a manual clock, injected faults, and assertions.
//!
//! A job runs at least once. It runs twice, for example, if the process dies after the work and
//! before it records the outcome. A handler that must not charge twice has to notice that the work
//! was done, and a test has to run the handler twice to prove that it does. This example is a
//! program. In your own project, write a `#[tokio::test]` for each fault.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use queuekit::memory::{ManualClock, MemoryStore, Operation, When};
use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "charge")]
struct Charge {
    cents: u64,
}

/// Stands in for a payment service that accepts idempotency keys, as most of them do.
#[derive(Clone, Default)]
struct Ledger {
    charged: Arc<Mutex<HashMap<JobId, u64>>>,
    calls: Arc<AtomicU32>,
}

/// The handler under test: the job's id is the idempotency key, because it is the same each time.
impl Handler<Charge> for Ledger {
    type Output = ();

    async fn call(&self, job: Charge, ctx: Ctx) -> JobResult {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let mut charged = self.charged.lock().unwrap_or_else(PoisonError::into_inner);
        charged.entry(ctx.id()).or_insert(job.cents);
        Ok(())
    }
}

impl Ledger {
    fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    fn charged(&self) -> HashMap<JobId, u64> {
        self.charged.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The handler runs twice, and the customer pays once.
async fn charges_once_despite_a_crash() -> queuekit::Result<()> {
    let clock = ManualClock::default();
    let store = MemoryStore::with_clock(clock.clone());
    let client = Client::new(store.clone());
    let ledger = Ledger::default();
    let id = client.enqueue(Charge { cents: 999 }).await?;

    store.faults().crash_before_ack();
    Worker::new(client.clone()).handle(ledger.clone()).run_until_idle().await?;
    clock.advance(Duration::from_secs(3600)); // leases have expired, and retries are due
    Worker::new(client.clone()).handle(ledger.clone()).run_until_idle().await?;

    assert_eq!(ledger.calls(), 2);
    assert_eq!(ledger.charged(), HashMap::from([(id, 999)]));
    println!("  the handler ran 2 x, the customer paid once");
    Ok(())
}

/// Injects a fault, runs the worker until no job is left to run, and checks the ledger.
async fn charges_once_despite(
    fault: impl FnOnce(&MemoryStore),
    expected_calls: u32,
) -> queuekit::Result<()> {
    let clock = ManualClock::default();
    let store = MemoryStore::with_clock(clock.clone());
    let client = Client::new(store.clone());
    let ledger = Ledger::default();
    let id = client.enqueue(Charge { cents: 999 }).await?;
    fault(&store);
    for _ in 0..3 {
        Worker::new(client.clone()).handle(ledger.clone()).run_until_idle().await?;
        // Longer than any lease: a job whose outcome was lost can run again.
        clock.advance(Duration::from_secs(60));
    }
    let state = client.jobs().get(id).await?.map(|job| job.state);
    assert_eq!(state, Some(State::Completed));
    assert_eq!(ledger.calls(), expected_calls);
    assert_eq!(ledger.charged(), HashMap::from([(id, 999)]));
    println!("  the handler ran {expected_calls} x, the customer paid once");
    Ok(())
}

#[tokio::main]
async fn main() -> queuekit::Result<()> {
    println!("the process dies after the work and before its ack; the lease runs out:");
    charges_once_despite_a_crash().await?;

    println!("the worker was cut off for too long; its ack comes too late and changes nothing:");
    charges_once_despite(|store| store.faults().lose_lease(), 2).await?;

    println!("the store hands the job out twice:");
    charges_once_despite(|store| store.faults().deliver_twice(), 2).await?;

    println!("the ack arrives and its answer is lost; the worker repeats it, not the work:");
    let answer_lost = |store: &MemoryStore| store.faults().fail(Operation::Ack, 1, When::After);
    charges_once_despite(answer_lost, 1).await
}
