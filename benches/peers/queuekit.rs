//! Our jobs and our worker, for each of our stores.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use queuekit_core::{BackendExt, Client, JobDraft, Payload, State};
use queuekit_worker::{Ctx, JobResult, RunningWorker, Worker};
use serde::{Deserialize, Serialize};

use crate::calls::Calls;
use crate::harness::{Peer, Result};

/// A job that does nothing.
#[derive(Serialize, Deserialize)]
pub(crate) struct Noop {
    number: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl Payload for Noop {
    const KIND: &'static str = "noop";
}

impl Noop {
    pub(crate) fn new(number: usize) -> Self {
        Self { number, text: None }
    }

    pub(crate) fn with_text(number: usize, text: String) -> Self {
        Self { number, text: Some(text) }
    }
}

/// A store of ours under measurement.
#[derive(Clone)]
pub(crate) struct QueueKit {
    pub(crate) client: Client,
    calls: Arc<Calls>,
    slots: usize,
}

impl QueueKit {
    pub(crate) fn new(client: Client, slots: usize) -> Self {
        Self { client, calls: Arc::default(), slots }
    }

    pub(crate) async fn enqueue(&self, job: impl Into<JobDraft>) -> Result<()> {
        self.client.enqueue(job).await?;
        Ok(())
    }

    pub(crate) async fn enqueue_all<J>(&self, jobs: impl Iterator<Item = J>) -> Result<()>
    where
        J: Into<JobDraft>,
    {
        self.client.enqueue_all(jobs).await?.ids()?;
        Ok(())
    }

    pub(crate) async fn drain(&self, jobs: usize) -> Result<Instant> {
        self.calls.expect(jobs);
        let worker = self.start().await?;
        self.calls.wait().await;
        // Until the last ack is stored, and the rest of the worker's end with it.
        worker.drain(Duration::from_secs(10)).await;
        Ok(Instant::now())
    }

    pub(crate) async fn idle<P: Peer>(&self, peer: &P, jobs: usize) -> Result<Vec<Duration>> {
        let worker = self.start().await?;
        let waits = self.calls.waits(peer, jobs).await?;
        worker.drain(Duration::from_secs(10)).await;
        Ok(waits)
    }

    /// What the store says.
    pub(crate) async fn completed(&self) -> Result<usize> {
        let queues = self.client.backend().all_queues().await?;
        let of_queue = queues.iter().map(|queue| queue.counts.of_state(State::Completed).value);
        Ok(usize::try_from(of_queue.sum::<u64>())?)
    }

    /// What was handled.
    pub(crate) fn called(&self) -> usize {
        self.calls.count.load(Ordering::SeqCst)
    }

    /// What the store says of itself under these names.
    pub(crate) async fn facts<const N: usize>(&self, names: [&str; N]) -> Result<String> {
        let facts = self.client.inspect().facts().await?;
        let told = names.map(|name| {
            let fact = facts.iter().find(|fact| fact.name == name);
            format!("{name} {}", fact.map_or("unknown", |fact| &fact.value))
        });
        Ok(told.join(", "))
    }

    pub(crate) async fn close(self) -> Result<()> {
        Ok(self.client.close().await?)
    }

    async fn start(&self) -> Result<RunningWorker> {
        let calls = Arc::clone(&self.calls);
        let handler = move |_job: Noop, _ctx: Ctx| {
            calls.call();
            async { JobResult::Ok(()) }
        };
        let worker = Worker::new(self.client.clone()).concurrency(self.slots).handle(handler);
        Ok(worker.start().await?)
    }
}
