//! graphile_worker, measured as `cargo xtask peers --store postgres` wants it.

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
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use calls::Calls;
use database::Database;
use graphile_worker::{
    IntoTaskHandlerResult, JobSpec, LocalQueueConfig, TaskHandler, Worker, WorkerContext,
    WorkerOptions, WorkerUtils,
};
use harness::{Peer, Result, Settings};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::task::JoinHandle;

#[tokio::main]
async fn main() -> Result<()> {
    harness::run::<Graphile>().await
}

#[derive(Clone, Deserialize, Serialize)]
struct Noop {
    number: usize,
    text: String,
}

impl Noop {
    fn new(number: usize) -> Self {
        Self { number, text: payload::text() }
    }
}

impl TaskHandler for Noop {
    const IDENTIFIER: &'static str = "noop";

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let calls = context.get_ext::<Arc<Calls>>().ok_or("the calls are not counted")?;
        calls.call();
        Ok::<(), &'static str>(())
    }
}

#[derive(Clone)]
struct Graphile {
    worker: Arc<Worker>,
    utils: WorkerUtils,
    pool: PgPool,
    calls: Arc<Calls>,
}

impl Peer for Graphile {
    const NAME: &'static str = "graphile_worker";

    /// All but the connections as in its own benchmark of throughput.
    const SETTINGS: &'static [(&'static str, &'static str)] = &[
        ("complete_ms", "5"),
        ("concurrency", "500"),
        ("connections", "16"),
        ("local_queue", "5000"),
        ("local_queues", "1"),
        ("poll_ms", "5"),
    ];

    type Place = Database;

    async fn open(database: &Database, settings: &Settings) -> Result<Self> {
        let milliseconds = |name| Result::Ok(Duration::from_millis(settings.get(name)?));
        let connections = settings.get("connections")?;
        // All of them from the start: who opens one meanwhile would pay for it.
        let pool = PgPoolOptions::new().max_connections(connections).min_connections(connections);
        let pool = pool.connect(database.url()).await?;
        let calls = Arc::new(Calls::default());
        let local_queue = LocalQueueConfig::default()
            .with_size(settings.get("local_queue")?)
            .with_queue_count(settings.get("local_queues")?);
        let worker = WorkerOptions::default()
            .pg_pool(pool.clone())
            .concurrency(settings.get("concurrency")?)
            .poll_interval(milliseconds("poll_ms")?)
            .complete_job_batch_delay(milliseconds("complete_ms")?)
            .local_queue(local_queue)
            .listen_os_shutdown_signals(false)
            .add_extension(Arc::clone(&calls))
            .define_job::<Noop>()
            .init()
            .await?;
        let utils = worker.create_utils();
        Ok(Self { worker: Arc::new(worker), utils, pool, calls })
    }

    async fn store(&self) -> Result<String> {
        let server: String = sqlx::query_scalar(database::DESCRIBE).fetch_one(&self.pool).await?;
        Ok(format!("{server}; NO HISTORY: it deletes completed jobs"))
    }

    async fn enqueue(&self, number: usize) -> Result<()> {
        self.utils.add_job(Noop::new(number), JobSpec::default()).await?;
        Ok(())
    }

    async fn enqueue_all(&self, numbers: Range<usize>) -> Result<()> {
        let spec = JobSpec::default();
        let jobs: Vec<_> = numbers.map(|number| (Noop::new(number), &spec)).collect();
        self.utils.add_jobs(&jobs).await?;
        Ok(())
    }

    async fn drain(&self, jobs: usize) -> Result<Instant> {
        self.calls.expect(jobs);
        let run = self.start();
        self.calls.wait().await;
        while self.stored().await? > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let ended = Instant::now();
        self.stop(run).await?;
        Ok(ended)
    }

    async fn idle(&self, jobs: usize) -> Result<Vec<Duration>> {
        let run = self.start();
        let waits = self.calls.waits(self, jobs).await?;
        self.stop(run).await?;
        Ok(waits)
    }

    /// It keeps none: those count that were run and are no longer stored.
    async fn completed(&self) -> Result<usize> {
        Ok(self.calls.count.load(Ordering::SeqCst) - self.stored().await?)
    }

    async fn close(self) -> Result<()> {
        self.pool.close().await;
        Ok(())
    }
}

impl Graphile {
    fn start(&self) -> JoinHandle<Result<()>> {
        let worker = Arc::clone(&self.worker);
        tokio::spawn(async move { Ok(worker.run().await?) })
    }

    async fn stop(&self, run: JoinHandle<Result<()>>) -> Result<()> {
        self.worker.request_shutdown();
        run.await?
    }

    async fn stored(&self) -> Result<usize> {
        let sql = "SELECT count(*) FROM graphile_worker._private_jobs";
        let count: i64 = sqlx::query_scalar(sql).fetch_one(&self.pool).await?;
        Ok(usize::try_from(count)?)
    }
}
