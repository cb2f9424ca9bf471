//! The mail that confirms an order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "send-confirmation", queue = "mail", max_attempts = 10, timeout = "60s")]
pub struct SendConfirmation {
    pub order: i64,
    pub customer: String,
    pub item: String,
}

impl Handler<SendConfirmation> for Mailer {
    /// Stored as the result of the job.
    type Output = String;

    async fn call(&self, job: SendConfirmation, ctx: Ctx) -> JobResult<String> {
        if !job.customer.contains('@') {
            // No retry can help: the job is dead-lettered immediately.
            return Err(JobError::fatal(format!("{:?} is not a mail address", job.customer)));
        }
        let text = format!("We have your order {}: {}.", job.order, job.item);
        // The job's id is the same in every run of the job.
        if self.send(ctx.id(), &job.customer, &text).await.is_err() {
            // The service says when to come back. This takes precedence over the backoff.
            return Err(JobError::retry_after("too many mails at once", Duration::from_secs(5)));
        }
        Ok(format!("sent to {}", job.customer))
    }
}

/// Sends mails: here, prints them.
///
/// Like a good mail service, it takes an idempotency key, and sends no second mail for it. Like
/// many, it refuses more than two mails at once. Its clones share all of this.
#[derive(Clone)]
pub struct Mailer {
    time: Duration,
    lines: Arc<Semaphore>,
    sent: Arc<Mutex<BTreeMap<JobId, String>>>,
}

#[derive(Debug)]
struct Busy;

impl Mailer {
    /// One that takes this long for a mail.
    pub fn new(time: Duration) -> Self {
        Self { time, lines: Arc::new(Semaphore::new(2)), sent: Arc::default() }
    }

    async fn send(&self, key: JobId, to: &str, text: &str) -> Result<(), Busy> {
        let _line = self.lines.try_acquire().map_err(|_| Busy)?;
        tokio::time::sleep(self.time).await;
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.entry(key).or_insert_with(|| {
            println!("mail to {to}: {text}");
            to.to_owned()
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use queuekit::State;
    use queuekit::memory::{ManualClock, MemoryStore};

    use super::*;
    use crate::jobs;

    fn confirmation(order: i64, customer: &str) -> SendConfirmation {
        SendConfirmation { order, customer: customer.into(), item: "a kettle".into() }
    }

    #[tokio::test]
    async fn one_mail_is_sent_if_a_worker_dies_before_its_ack() -> queuekit::Result<()> {
        let clock = ManualClock::default();
        let store = MemoryStore::with_clock(clock.clone());
        let client = Client::new(store.clone());
        let mailer = Mailer::new(Duration::ZERO);
        let id = client.enqueue(confirmation(7, "ada@example.org")).await?;

        store.faults().crash_before_ack();
        for _ in 0..2 {
            let worker = Worker::new(client.clone()).queue("mail").handle(mailer.clone());
            worker.run_until_idle().await?;
            clock.advance(Duration::from_secs(60)); // longer than a lease
        }

        let job = client.jobs().get(id).await?.expect("the job is stored");
        assert_eq!((job.state, job.attempts), (State::Completed, 2));
        assert_eq!(mailer.sent.lock().unwrap().len(), 1);
        Ok(())
    }

    #[tokio::test]
    async fn an_invalid_address_is_dead_lettered() -> queuekit::Result<()> {
        let client = Client::new(MemoryStore::new());
        let id = client.enqueue(confirmation(7, "nobody")).await?;
        let mailer = Mailer::new(Duration::ZERO);
        Worker::new(client.clone()).queue("mail").handle(mailer).run_until_idle().await?;
        let job = client.jobs().get(id).await?.expect("the job is stored");
        assert_eq!(job.state, State::Dead);
        Ok(())
    }

    #[tokio::test]
    async fn two_mails_are_sent_at_once_so_the_service_refuses_none() -> queuekit::Result<()> {
        let client = Client::new(MemoryStore::new());
        jobs::declare(&client).await?;
        let mails = (0..10).map(|order| {
            JobDraft::of(&confirmation(order, "ada@example.org")).partition_key("mail-service")
        });
        client.enqueue_all(mails).await?.ids()?;

        let mailer = Mailer::new(Duration::from_millis(5));
        let worker = Worker::new(client).queue("mail").concurrency(10).handle(mailer.clone());
        let summary = worker.run_until_idle().await?;
        assert_eq!((summary.completed, summary.failed), (10, 0));
        assert_eq!(mailer.sent.lock().unwrap().len(), 10);
        Ok(())
    }
}
