//! riverqueue on SQLite, measured as `cargo xtask peers` wants it.

#[path = "../../directory.rs"]
mod directory;
#[path = "../../harness.rs"]
mod harness;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use directory::Directory;
use harness::{Peer, Result, Settings};
use riverqueue::migrate::SqliteMigrator;
use riverqueue::sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous,
};
use riverqueue::sqlx::{self, SqlitePool};
use riverqueue::{Client, Job, JobArgs, QUEUE_DEFAULT, QueueConfig, WorkContext, WorkOutcome};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

#[tokio::main]
async fn main() -> Result<()> {
    harness::run::<River>().await
}

#[derive(Clone, Deserialize, JobArgs, Serialize)]
#[river(kind = "noop")]
struct Noop {
    number: usize,
}

#[derive(Clone)]
struct River {
    client: Client,
    pool: SqlitePool,
    worked: Arc<Worked>,
}

/// Calls of the handler, and a ring at the last one.
#[derive(Default)]
struct Worked {
    calls: AtomicUsize,
    expected: AtomicUsize,
    last: Notify,
}

impl Worked {
    fn call(&self) {
        if self.calls.fetch_add(1, Ordering::Relaxed) + 1 == self.expected.load(Ordering::Relaxed) {
            self.last.notify_one();
        }
    }
}

impl Peer for River {
    const NAME: &'static str = "riverqueue";

    /// Poll interval and cooldown as in its own benchmark.
    const SETTINGS: &'static [(&'static str, &'static str)] = &[
        ("connections", "10"),
        ("cooldown_ms", "2"),
        ("notifications", "true"),
        ("poll_ms", "20"),
        ("synchronous", "full"),
        ("workers", "4000"),
    ];

    type Place = Directory;

    async fn open(directory: &Directory, settings: &Settings) -> Result<Self> {
        let options = SqliteConnectOptions::new()
            .filename(directory.path().join("jobs.db"))
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(settings.get::<SqliteSynchronous>("synchronous")?)
            .busy_timeout(Duration::from_secs(5));
        let pool = SqlitePoolOptions::new().max_connections(settings.get("connections")?);
        let pool = pool.connect_with(options).await?;
        SqliteMigrator::new(pool.clone()).migrate_up().await?;

        let worked = Arc::new(Worked::default());
        let mut workers = riverqueue::Workers::new();
        let counted = Arc::clone(&worked);
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
        Ok(Self { client: client.build()?, pool, worked })
    }

    async fn store(&self) -> Result<String> {
        let version: String = self.ask("SELECT sqlite_version()").await?;
        let journal: String = self.ask("PRAGMA journal_mode").await?;
        let synchronous: i64 = self.ask("PRAGMA synchronous").await?;
        Ok(format!("SQLite {version} journal_mode={journal} synchronous={synchronous}"))
    }

    async fn enqueue(&self, number: usize) -> Result<()> {
        self.client.insert(Noop { number }).await?;
        Ok(())
    }

    async fn enqueue_all(&self, numbers: Range<usize>) -> Result<()> {
        self.client.insert_many(numbers.map(|number| Noop { number })).await?;
        Ok(())
    }

    async fn drain(&self, jobs: usize) -> Result<Instant> {
        self.worked.expected.store(jobs, Ordering::Relaxed);
        let mut run = self.client.start()?;
        self.worked.last.notified().await;
        // Asked, because events of completed jobs would cost it time for each of them.
        while self.completed().await? < jobs {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let ended = Instant::now();
        run.stop().await?;
        Ok(ended)
    }

    async fn completed(&self) -> Result<usize> {
        let count = "SELECT count(*) FROM river_job WHERE state = 'completed'";
        Ok(usize::try_from(self.ask::<i64>(count).await?)?)
    }

    async fn close(self) -> Result<()> {
        self.pool.close().await;
        Ok(())
    }
}

impl River {
    async fn ask<T>(&self, sql: &'static str) -> Result<T>
    where
        T: Send + Unpin + for<'r> sqlx::Decode<'r, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
    {
        Ok(sqlx::query_scalar(sql).fetch_one(&self.pool).await?)
    }
}
