//! riverqueue on Postgres, measured as `cargo xtask peers --store postgres` wants it.

#[path = "../../calls.rs"]
mod calls;
#[path = "../../database.rs"]
mod database;
#[path = "../../harness.rs"]
mod harness;
#[path = "../../payload.rs"]
mod payload;

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use calls::Calls;
use database::Database;
use harness::{Peer, Result, Settings};
use riverqueue::migrate::PostgresMigrator;
use riverqueue::sqlx::postgres::PgPoolOptions;
use riverqueue::sqlx::{self, PgPool};
use riverqueue::{Client, Job, JobArgs, QUEUE_DEFAULT, QueueConfig, WorkContext, WorkOutcome};
use serde::{Deserialize, Serialize};

#[tokio::main]
async fn main() -> Result<()> {
    harness::run::<River>().await
}

#[derive(Clone, Deserialize, JobArgs, Serialize)]
#[river(kind = "noop")]
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
struct River {
    client: Client,
    pool: PgPool,
    calls: Arc<Calls>,
}

impl Peer for River {
    const NAME: &'static str = "riverqueue";

    /// Poll interval and cooldown as in its own benchmark. That has 2,000 workers and up to 50
    /// connections; with 2,000 workers it drains some 10 % faster.
    const SETTINGS: &'static [(&'static str, &'static str)] = &[
        ("connections", "16"),
        ("cooldown_ms", "2"),
        ("notifications", "true"),
        ("poll_ms", "20"),
        ("workers", "1000"),
    ];

    type Place = Database;

    async fn open(database: &Database, settings: &Settings) -> Result<Self> {
        let connections = settings.get("connections")?;
        // All of them from the start: who opens one meanwhile would pay for it.
        let pool = PgPoolOptions::new().max_connections(connections).min_connections(connections);
        let pool = pool.connect(database.url()).await?;
        PostgresMigrator::new(pool.clone()).migrate_up().await?;

        let calls = Arc::new(Calls::default());
        let mut workers = riverqueue::Workers::new();
        let counted = Arc::clone(&calls);
        workers.add_fn(move |_: WorkContext, _: Job<Noop>| {
            counted.call();
            async { Result::Ok(WorkOutcome::Complete) }
        })?;
        let queue = QueueConfig::new(settings.get("workers")?)
            .with_fetch_cooldown(Duration::from_millis(settings.get("cooldown_ms")?))
            .with_fetch_poll_interval(Duration::from_millis(settings.get("poll_ms")?));
        let mut client = Client::builder(pool.clone()).workers(workers).queue(QUEUE_DEFAULT, queue);
        if !settings.get::<bool>("notifications")? {
            client = client.without_notifications();
        }
        Ok(Self { client: client.build()?, pool, calls })
    }

    async fn store(&self) -> Result<String> {
        let server: String = sqlx::query_scalar(database::DESCRIBE).fetch_one(&self.pool).await?;
        Ok(format!("{server}; completed jobs are kept"))
    }

    async fn enqueue(&self, number: usize) -> Result<()> {
        self.client.insert(Noop::new(number)).await?;
        Ok(())
    }

    async fn enqueue_all(&self, numbers: Range<usize>) -> Result<()> {
        self.client.insert_many(numbers.map(Noop::new)).await?;
        Ok(())
    }

    async fn drain(&self, jobs: usize) -> Result<Instant> {
        self.calls.expect(jobs);
        let mut run = self.client.start()?;
        self.calls.wait().await;
        // Asked, because events of completed jobs would cost it time for each of them.
        while self.count("state IN ('available', 'running')").await? > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let ended = Instant::now();
        run.stop().await?;
        Ok(ended)
    }

    async fn idle(&self, jobs: usize) -> Result<Vec<Duration>> {
        let mut run = self.client.start()?;
        let waits = self.calls.waits(self, jobs).await?;
        run.stop().await?;
        Ok(waits)
    }

    async fn completed(&self) -> Result<usize> {
        self.count("state = 'completed'").await
    }

    async fn close(self) -> Result<()> {
        self.pool.close().await;
        Ok(())
    }
}

impl River {
    async fn count(&self, condition: &'static str) -> Result<usize> {
        let sql = format!("SELECT count(*) FROM river_job WHERE {condition}");
        let count = sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(sql)).fetch_one(&self.pool);
        Ok(usize::try_from(count.await?)?)
    }
}
