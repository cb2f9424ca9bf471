//! Our store on Redis, measured as `cargo xtask peers --store redis` wants it.

#[path = "../../peers/calls.rs"]
mod calls;
#[path = "../../peers/harness.rs"]
mod harness;
#[path = "../../peers/payload.rs"]
mod payload;
#[expect(dead_code, reason = "all jobs have a text")]
#[path = "../../peers/queuekit.rs"]
mod queuekit;
#[path = "../../peers/redis_server.rs"]
mod redis_server;

use std::ops::Range;
use std::time::{Duration, Instant};

use harness::{Peer, Result, Settings};
use queuekit::{Noop, QueueKit};
use queuekit_core::queue::Order;
use queuekit_core::{Client, JobDraft, QueuePatch};
use queuekit_redis::{RedisConfig, RedisStore};
use redis_server::RedisServer;
use tokio::runtime::Runtime;

fn main() -> Result<()> {
    // A runtime as `#[tokio::main]` makes it.
    Runtime::new()?.block_on(harness::run::<Redis>())
}

#[derive(Clone)]
struct Redis {
    jobs: QueueKit,
    /// Partition keys that jobs have in turn; with none, they have no key.
    keys: usize,
}

impl Peer for Redis {
    const NAME: &'static str = "queuekit";

    const SETTINGS: &'static [(&'static str, &'static str)] =
        &[("fair", "false"), ("keys", "0"), ("slots", "100")];

    type Place = RedisServer;

    async fn open(server: &RedisServer, settings: &Settings) -> Result<Self> {
        let config = RedisConfig::from_url(server.url())?.prefix(server.prefix())?;
        let client = Client::new(RedisStore::connect(config).await?);
        if settings.get("fair")? {
            // Partition keys are served in turn, not in the order of their jobs.
            let fair = QueuePatch::default().order(Order::Fair);
            client.queues().configure("default", &fair).await?;
        }
        let jobs = QueueKit::new(client, settings.get("slots")?);
        Ok(Self { jobs, keys: settings.get("keys")? })
    }

    async fn store(&self) -> Result<String> {
        let names = ["redis version", "append-only file", "appendfsync"];
        Ok(format!("{}; completed jobs are kept", self.jobs.facts(names).await?))
    }

    async fn enqueue(&self, number: usize) -> Result<()> {
        self.jobs.enqueue(self.job(number)).await
    }

    async fn enqueue_all(&self, numbers: Range<usize>) -> Result<()> {
        self.jobs.enqueue_all(numbers.map(|number| self.job(number))).await
    }

    async fn drain(&self, jobs: usize) -> Result<Instant> {
        self.jobs.drain(jobs).await
    }

    async fn idle(&self, jobs: usize) -> Result<Vec<Duration>> {
        self.jobs.idle(self, jobs).await
    }

    async fn completed(&self) -> Result<usize> {
        self.jobs.completed().await
    }

    async fn close(self) -> Result<()> {
        self.jobs.close().await
    }
}

impl Redis {
    fn job(&self, number: usize) -> JobDraft {
        let job = JobDraft::from(Noop::with_text(number, payload::text()));
        match number.checked_rem(self.keys) {
            Some(key) => job.partition_key(format!("key-{key}")),
            None => job,
        }
    }
}
