//! Our store on Postgres, measured as `cargo xtask peers --store postgres` wants it.

#[path = "../../peers/calls.rs"]
mod calls;
#[path = "../../peers/database.rs"]
mod database;
#[path = "../../peers/harness.rs"]
mod harness;
#[path = "../../peers/payload.rs"]
mod payload;
#[expect(dead_code, reason = "the server is asked directly what it is")]
#[path = "../../peers/queuekit.rs"]
mod queuekit;

use std::ops::Range;
use std::time::{Duration, Instant};

use database::Database;
use harness::{Peer, Result, Settings};
use queuekit::{Noop, QueueKit};
use queuekit_core::{BackendExt, Client};
use queuekit_postgres::tokio_postgres::{self, NoTls};
use queuekit_postgres::{PostgresConfig, PostgresStore};
use tokio::runtime::Runtime;

fn main() -> Result<()> {
    // A runtime as `#[tokio::main]` makes it.
    Runtime::new()?.block_on(harness::run::<Postgres>())
}

#[derive(Clone)]
struct Postgres {
    jobs: QueueKit,
    url: String,
}

impl Peer for Postgres {
    const NAME: &'static str = "queuekit";

    const SETTINGS: &'static [(&'static str, &'static str)] =
        &[("connections", "16"), ("slots", "2000")];

    type Place = Database;

    async fn open(database: &Database, settings: &Settings) -> Result<Self> {
        let connections = settings.get("connections")?;
        let config = PostgresConfig::from_url(database.url())?.pool_size(connections);
        let client = Client::new(PostgresStore::connect(config).await?);
        open_all(&client, connections).await?;
        let jobs = QueueKit::new(client, settings.get("slots")?);
        Ok(Self { jobs, url: database.url().to_owned() })
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
        self.jobs.enqueue(job(number)).await
    }

    async fn enqueue_all(&self, numbers: Range<usize>) -> Result<()> {
        self.jobs.enqueue_all(numbers.map(job)).await
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

fn job(number: usize) -> Noop {
    Noop::with_text(number, payload::text())
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
