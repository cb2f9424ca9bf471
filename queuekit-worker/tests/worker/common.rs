//! What the tests of the worker share.

use std::time::Duration;

use queuekit_core::memory::MemoryStore;
use queuekit_core::{
    Backend, Client, Job, JobDraft, JobId, LeaseTtl, Payload, QueueName, Reserve, Reserved,
    RetryPolicy, WorkerId,
};
use queuekit_worker::{Ctx, Hooks, Outcome, Worker};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::time::timeout;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Greet {
    pub(crate) name: String,
}

impl Payload for Greet {
    const KIND: &'static str = "greet";
}

pub(crate) fn greet(name: &str) -> Greet {
    Greet { name: name.into() }
}

pub(crate) struct Fixture {
    pub(crate) store: MemoryStore,
    pub(crate) client: Client,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let store = MemoryStore::new();
        let client = Client::new(store.clone());
        Self { store, client }
    }

    /// A worker whose retries do not wait.
    pub(crate) fn worker(&self) -> Worker {
        Worker::new(self.client.clone()).retry(RetryPolicy::Fixed(Duration::ZERO))
    }

    pub(crate) async fn enqueue(&self, job: impl Into<JobDraft>) -> JobId {
        self.client.enqueue(job).await.unwrap()
    }

    pub(crate) async fn job(&self, id: JobId) -> Job {
        self.client.jobs().get(id).await.unwrap().unwrap()
    }

    pub(crate) async fn status(&self, id: JobId) -> &'static str {
        self.job(id).await.status.as_str()
    }

    /// What another worker would get now.
    pub(crate) async fn steal(&self) -> Reserved {
        let (ttl, thief) = (LeaseTtl::default(), WorkerId::new("thief").unwrap());
        let request = Reserve::new(QueueName::default(), 10, ttl, thief).unwrap();
        self.store.reserve(&request).await.unwrap()
    }
}

pub(crate) fn ttl(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Long enough for anything that will happen, short enough for a test that fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Hooks that send on each event.
pub(crate) struct Told(mpsc::UnboundedSender<&'static str>);

/// Events of hooks, to wait for.
pub(crate) struct Telling(mpsc::UnboundedReceiver<&'static str>);

pub(crate) fn telling() -> (Told, Telling) {
    let (told, telling) = mpsc::unbounded_channel();
    (Told(told), Telling(telling))
}

impl Hooks for Told {
    fn on_start(&self, _ctx: &Ctx) {
        let _ = self.0.send("started");
    }

    fn on_outcome(&self, _ctx: &Ctx, outcome: &Outcome) {
        let _ = self.0.send(outcome.as_str());
    }

    fn on_lease_lost(&self, _ctx: &Ctx) {
        let _ = self.0.send("lost");
    }

    fn on_stuck(&self, _ctx: &Ctx) {
        let _ = self.0.send("stuck");
    }
}

impl Telling {
    /// Waits until this event has come this many times more.
    pub(crate) async fn told(&mut self, what: &str, times: usize) {
        let mut left = times;
        while left > 0 {
            let told = timeout(PATIENCE, self.0.recv()).await.unwrap().unwrap();
            left -= usize::from(told == what);
        }
    }

    /// All events up to the end of the worker.
    pub(crate) async fn all(mut self) -> Vec<&'static str> {
        let mut all = Vec::new();
        while let Some(told) = timeout(PATIENCE, self.0.recv()).await.unwrap() {
            all.push(told);
        }
        all
    }
}
