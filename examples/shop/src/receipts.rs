//! The receipt of an order: the job, and the handler that sends it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "send-receipt", max_attempts = 10, timeout = "60s")]
pub struct SendReceipt {
    pub order: i64,
    pub email: String,
}

/// The handler. All its runs, and its clones, share one mailer.
#[derive(Clone, Default)]
pub struct Receipts {
    mailer: Mailer,
}

impl Handler<SendReceipt> for Receipts {
    /// Stored as the result of the job.
    type Output = String;

    async fn call(&self, job: SendReceipt, ctx: Ctx) -> JobResult<String> {
        if !job.email.contains('@') {
            // No retry can help: the job is dead-lettered immediately.
            return Err(JobError::fatal(format!("{:?} is not an e-mail address", job.email)));
        }
        let text = format!("Thank you for order {}!", job.order);
        // Any error with `?` fails the attempt, and the job is retried.
        self.mailer.send(ctx.id(), &job.email, &text).await?;
        Ok(format!("sent to {}", job.email))
    }
}

/// Stands in for a mail service that accepts idempotency keys.
#[derive(Clone, Default)]
struct Mailer {
    sent: Arc<Mutex<BTreeMap<JobId, String>>>,
}

impl Mailer {
    /// Sends a message, unless one was sent under this key.
    async fn send(&self, key: JobId, to: &str, text: &str) -> std::io::Result<()> {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.entry(key).or_insert_with(|| {
            println!("to {to}: {text}");
            to.to_owned()
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use queuekit::memory::{ManualClock, MemoryStore};

    use super::*;

    #[tokio::test]
    async fn one_receipt_is_sent_if_a_worker_dies_before_its_ack() -> queuekit::Result<()> {
        let clock = ManualClock::default();
        let store = MemoryStore::with_clock(clock.clone());
        let client = Client::new(store.clone());
        let receipts = Receipts::default();
        let job = SendReceipt { order: 7, email: "ada@example.org".into() };
        let id = client.enqueue(job).await?;

        store.faults().crash_before_ack();
        for _ in 0..2 {
            Worker::new(client.clone()).handle(receipts.clone()).run_until_idle().await?;
            clock.advance(Duration::from_secs(60)); // longer than a lease
        }

        let job = client.jobs().get(id).await?.expect("the job is stored");
        assert_eq!((job.state, job.attempts), (State::Completed, 2));
        assert_eq!(receipts.mailer.sent.lock().unwrap().len(), 1);
        Ok(())
    }

    #[tokio::test]
    async fn an_invalid_address_is_dead_lettered() -> queuekit::Result<()> {
        let client = Client::new(MemoryStore::new());
        let job = SendReceipt { order: 7, email: "nobody".into() };
        let id = client.enqueue(job).await?;
        Worker::new(client.clone()).handle(Receipts::default()).run_until_idle().await?;
        let job = client.jobs().get(id).await?.expect("the job is stored");
        assert_eq!(job.state, State::Dead);
        Ok(())
    }
}
