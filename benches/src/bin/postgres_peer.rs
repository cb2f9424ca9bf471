//! Our store on Postgres, measured as `cargo xtask peers --store postgres` wants it.

#[path = "../../peers/calls.rs"]
mod calls;
#[path = "../../peers/database.rs"]
mod database;
#[path = "../../peers/harness.rs"]
mod harness;
#[path = "../../peers/payload.rs"]
mod payload;

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use calls::Calls;
use database::Database;
use harness::{Peer, Result, Settings};
use queuekit_core::{BackendExt, Client, Payload, State};
use queuekit_postgres::tokio_postgres::{self, NoTls};
use queuekit_postgres::{PostgresConfig, PostgresStore};
use queuekit_worker::{Ctx, JobResult, RunningWorker, Worker};
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
    url: String,
    calls: Arc<Calls>,
    slots: usize,
}

impl Peer for QueueKit {
    const NAME: &'static str = "queuekit";

    const SETTINGS: &'static [(&'static str, &'static str)] =
        &[("connections", "16"), ("slots", "2000")];

    type Place = Database;

    async fn open(database: &Database, settings: &Settings) -> Result<Self> {
        let connections = settings.get("connections")?;
        let config = PostgresConfig::from_url(database.url())?.pool_size(connections);
        let client = Client::new(PostgresStore::connect(config).await?);
        open_all(&client, connections).await?;
        let (url, calls) = (database.url().to_owned(), Arc::default());
        Ok(Self { client, url, calls, slots: settings.get("slots")? })
    }

    async fn store(&self) -> Result<String> {
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await?;
        let connection = tokio::spawn(connection);
        let server: String = client.query_one(database::DESCRIBE, &[]).await?.get(0);
        drop(client);
        connection.await??;
        Ok(format!("{server}; completed jobs are kept"))
    }

    async fn enqueue(&self, number: usize) -> Result<()> {
        self.client.enqueue(Noop::new(number)).await?;
        Ok(())
    }

    async fn enqueue_all(&self, numbers: Range<usize>) -> Result<()> {
        self.client.enqueue_all(numbers.map(Noop::new)).await?.ids()?;
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

/// Opens connections at the start, as the peers do, so that no measurement includes this.
async fn open_all(client: &Client, connections: usize) -> Result<()> {
    let ask = |_| {
        let client = client.clone();
        tokio::spawn(async move { client.backend().all_queues().await.map(drop) })
    };
    let asking: Vec<_> = (0..connections).map(ask).collect();
    for asked in asking {
        asked.await??;
    }
    Ok(())
}
