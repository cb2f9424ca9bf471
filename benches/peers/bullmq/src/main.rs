//! BullMQ on Redis, measured as `cargo xtask peers --store redis` wants it.

#[path = "../../calls.rs"]
mod calls;
#[path = "../../harness.rs"]
mod harness;
#[path = "../../payload.rs"]
mod payload;
#[path = "../../redis_server.rs"]
mod redis_server;

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bullmq::options::RedisConnectionOptions;
use bullmq::worker::CancellationToken;
use bullmq::{BulkJob, Job, Queue, QueueOptions, Worker, WorkerOptions};
use calls::Calls;
use harness::{Peer, Result, Settings};
use redis_server::RedisServer;
use serde::Serialize;
use serde_json::Value;

const QUEUE: &str = "default";
const KIND: &str = "noop";

/// What the worker may take to end; not measured.
const CLOSE_MAX_MS: u64 = 10_000;

#[tokio::main]
async fn main() -> Result<()> {
    harness::run::<BullMq>().await
}

#[derive(Serialize)]
struct Noop {
    number: usize,
    text: String,
}

impl Noop {
    fn new(number: usize) -> Self {
        Self { number, text: payload::text() }
    }
}

#[derive(Clone)]
struct BullMq {
    queue: Queue,
    worker: WorkerOptions,
    calls: Arc<Calls>,
}

impl Peer for BullMq {
    const NAME: &'static str = "bullmq";

    const SETTINGS: &'static [(&'static str, &'static str)] = &[("concurrency", "100")];

    type Place = RedisServer;

    async fn open(server: &RedisServer, settings: &Settings) -> Result<Self> {
        let connection = RedisConnectionOptions::new().url(server.url());
        let options = QueueOptions::new().connection(connection.clone()).prefix(server.prefix());
        let queue = Queue::with_options(QUEUE, options).await?;
        let worker = WorkerOptions::new().connection(connection).prefix(server.prefix());
        let worker = worker.concurrency(settings.get("concurrency")?);
        Ok(Self { queue, worker, calls: Arc::default() })
    }

    async fn store(&self) -> Result<String> {
        let connection = self.queue.connection();
        let info: String = connection.cmd(redis::cmd("INFO").arg("server")).await?;
        let version = info.lines().find_map(|line| line.strip_prefix("redis_version:"));
        let mut told = vec![format!("version {}", version.unwrap_or("unknown"))];
        for name in ["appendonly", "appendfsync"] {
            let mut ask = redis::cmd("CONFIG");
            let pair: Vec<String> = connection.cmd(ask.arg("GET").arg(name)).await?;
            told.push(pair.join(" "));
        }
        Ok(format!("{}; completed jobs are kept", told.join(", ")))
    }

    async fn enqueue(&self, number: usize) -> Result<()> {
        self.queue.add(KIND, Noop::new(number)).await?;
        Ok(())
    }

    async fn enqueue_all(&self, numbers: Range<usize>) -> Result<()> {
        let jobs = numbers.map(|number| BulkJob::new(KIND, Noop::new(number)));
        self.queue.add_bulk(jobs.collect()).await?;
        Ok(())
    }

    async fn drain(&self, jobs: usize) -> Result<Instant> {
        self.calls.expect(jobs);
        let worker = self.start().await?;
        self.calls.wait().await;
        // Asked, because events of completed jobs would cost it time for each of them.
        while self.queue.get_job_count_by_types(&["waiting", "active"]).await? > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let ended = Instant::now();
        worker.close(CLOSE_MAX_MS).await?;
        Ok(ended)
    }

    async fn idle(&self, jobs: usize) -> Result<Vec<Duration>> {
        let worker = self.start().await?;
        let waits = self.calls.waits(self, jobs).await?;
        worker.close(CLOSE_MAX_MS).await?;
        Ok(waits)
    }

    async fn completed(&self) -> Result<usize> {
        Ok(usize::try_from(self.queue.get_completed_count().await?)?)
    }

    async fn close(self) -> Result<()> {
        self.queue.close().await;
        Ok(())
    }
}

impl BullMq {
    async fn start(&self) -> Result<Worker> {
        let calls = Arc::clone(&self.calls);
        let handler = move |_: Job, _: CancellationToken| {
            calls.call();
            async { Ok(Value::Null) }
        };
        Ok(Worker::with_options(QUEUE, handler, self.worker.clone()).await?)
    }
}
