//! Our store on Redis, measured as `cargo xtask peers --store redis` wants it.

#[path = "../../peers/calls.rs"]
mod calls;
#[path = "../../peers/harness.rs"]
mod harness;
#[path = "../../peers/payload.rs"]
mod payload;
#[path = "../../peers/redis_server.rs"]
mod redis_server;

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use calls::Calls;
use harness::{Peer, Result, Settings};
use queuekit_core::queue::Order;
use queuekit_core::{Backend, BackendExt, Client, JobDraft, Payload, QueueName, QueuePatch, State};
use queuekit_redis::{RedisConfig, RedisStore};
use queuekit_worker::{Ctx, JobResult, RunningWorker, Worker};
use redis_server::RedisServer;
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

fn main() -> Result<()> {
    // A runtime as `#[tokio::main]` makes it.
    Runtime::new()?.block_on(harness::run::<QueueKit>())
}

#[derive(Serialize, Deserialize)]
struct Noop {
    number: usize,
    text: String,
}

impl Noop {
    fn new(number: usize) -> Self {
        Self { number, text: payload::text() }
    }
}

impl Payload for Noop {
    const KIND: &'static str = "noop";
}

#[derive(Clone)]
struct QueueKit {
    client: Client,
    calls: Arc<Calls>,
    slots: usize,
    /// Partition keys that jobs have in turn; with none, they have no key.
    keys: usize,
}

impl Peer for QueueKit {
    const NAME: &'static str = "queuekit";

    const SETTINGS: &'static [(&'static str, &'static str)] =
        &[("fair", "false"), ("keys", "0"), ("slots", "100")];

    type Place = RedisServer;

    async fn open(server: &RedisServer, settings: &Settings) -> Result<Self> {
        let config = RedisConfig::from_url(server.url())?.prefix(server.prefix())?;
        let client = Client::new(RedisStore::connect(config).await?);
        if settings.get("fair")? {
            be_fair(&client).await?;
        }
        let (slots, keys) = (settings.get("slots")?, settings.get("keys")?);
        Ok(Self { client, calls: Arc::default(), slots, keys })
    }

    async fn store(&self) -> Result<String> {
        let inspect = self.client.backend().capabilities().inspect.ok_or("nothing is told")?;
        let facts = inspect.facts().await?;
        let told = ["redis version", "append-only file", "appendfsync"].map(|name| {
            let fact = facts.iter().find(|fact| fact.name == name);
            format!("{name} {}", fact.map_or("unknown", |fact| &fact.value))
        });
        Ok(format!("{}; completed jobs are kept", told.join(", ")))
    }

    async fn enqueue(&self, number: usize) -> Result<()> {
        self.client.enqueue(self.job(number)).await?;
        Ok(())
    }

    async fn enqueue_all(&self, numbers: Range<usize>) -> Result<()> {
        self.client.enqueue_all(numbers.map(|number| self.job(number))).await?.ids()?;
        Ok(())
    }

    async fn drain(&self, jobs: usize) -> Result<Instant> {
        self.calls.expect(jobs);
        let worker = self.start().await?;
        self.calls.wait().await;
        // Until the last ack is stored, and the rest of the worker's end with it.
        worker.drain(Duration::from_secs(10)).await;
        Ok(Instant::now())
    }

    async fn idle(&self, jobs: usize) -> Result<Vec<Duration>> {
        let worker = self.start().await?;
        let waits = self.calls.waits(self, jobs).await?;
        worker.drain(Duration::from_secs(10)).await;
        Ok(waits)
    }

    async fn completed(&self) -> Result<usize> {
        let queues = self.client.backend().all_queues().await?;
        let of_queue = queues.iter().map(|queue| queue.counts.of_state(State::Completed).value);
        Ok(usize::try_from(of_queue.sum::<u64>())?)
    }

    async fn close(self) -> Result<()> {
        Ok(self.client.close().await?)
    }
}

impl QueueKit {
    fn job(&self, number: usize) -> JobDraft {
        let job = JobDraft::from(Noop::new(number));
        match number.checked_rem(self.keys) {
            Some(key) => job.partition_key(format!("key-{key}")),
            None => job,
        }
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

/// Partition keys are served in turn, not in the order of their jobs.
async fn be_fair(client: &Client) -> Result<()> {
    let admin = client.backend().capabilities().admin.ok_or("the store has Admin")?;
    let patch = QueuePatch::default().order(Order::Fair);
    admin.configure(&QueueName::default(), &patch).await?;
    Ok(())
}
