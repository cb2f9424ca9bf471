//! effectum, measured as `cargo xtask peers` wants it.

#[path = "../../directory.rs"]
mod directory;
#[path = "../../harness.rs"]
mod harness;
mod writer;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use directory::Directory;
use effectum::{Job, JobRunner, Queue, RunningJob, Worker};
use harness::{Peer, Result, Settings};
use tokio::sync::Notify;

#[tokio::main]
async fn main() -> Result<()> {
    harness::run::<Effectum>().await
}

#[derive(Clone)]
struct Effectum {
    queue: Arc<Queue>,
    path: PathBuf,
    sqlite: String,
    concurrency: u16,
    /// Running jobs below which it fetches more.
    fetch_below: u16,
}

/// Calls of the handler, and a ring at the last one.
#[derive(Debug)]
struct Worked {
    calls: AtomicUsize,
    expected: usize,
    last: Notify,
}

async fn noop(_job: RunningJob, worked: Arc<Worked>) -> Result<()> {
    if worked.calls.fetch_add(1, Ordering::Relaxed) + 1 == worked.expected {
        worked.last.notify_one();
    }
    Ok(())
}

impl Peer for Effectum {
    const NAME: &'static str = "effectum";

    /// By default it runs with `journal=delete` and `synchronous=normal`.
    const SETTINGS: &'static [(&'static str, &'static str)] = &[
        ("concurrency", "200"),
        ("fetch_below", "150"),
        ("journal", "wal"),
        ("synchronous", "full"),
    ];

    type Place = Directory;

    async fn open(directory: &Directory, settings: &Settings) -> Result<Self> {
        let path = directory.path().join("jobs.db");
        writer::create(&path, &settings.get::<String>("journal")?)?;
        let opened = writer::Opened::watch();
        let queue = Queue::new(&path).await?;
        let sqlite = opened.set_synchronous(&settings.get::<String>("synchronous")?)?;
        Ok(Self {
            queue: Arc::new(queue),
            path,
            sqlite,
            concurrency: settings.get("concurrency")?,
            fetch_below: settings.get("fetch_below")?,
        })
    }

    async fn store(&self) -> Result<String> {
        Ok(self.sqlite.clone())
    }

    async fn enqueue(&self, number: usize) -> Result<()> {
        self.queue.add_job(job(number)?).await?;
        Ok(())
    }

    async fn enqueue_all(&self, numbers: Range<usize>) -> Result<()> {
        self.queue.add_jobs(numbers.map(job).collect::<Result<_>>()?).await?;
        Ok(())
    }

    async fn drain(&self, jobs: usize) -> Result<Instant> {
        let calls = AtomicUsize::new(0);
        let worked = Arc::new(Worked { calls, expected: jobs, last: Notify::new() });
        let worker = Worker::builder(&self.queue, Arc::clone(&worked))
            .jobs([JobRunner::builder("noop", noop).build()])
            .max_concurrency(self.concurrency)
            .min_concurrency(self.fetch_below)
            .build()
            .await?;
        worked.last.notified().await;
        loop {
            let active = self.queue.num_active_jobs().await?;
            if active.pending + active.running == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let ended = Instant::now();
        worker.unregister(None).await?;
        Ok(ended)
    }

    async fn completed(&self) -> Result<usize> {
        let count = "SELECT count(*) FROM jobs WHERE status = 'succeeded'";
        let reader = rusqlite::Connection::open(&self.path)?;
        Ok(reader.query_row(count, [], |row| row.get(0))?)
    }

    async fn close(self) -> Result<()> {
        Ok(self.queue.close(Duration::from_secs(10)).await?)
    }
}

fn job(number: usize) -> Result<Job> {
    let payload = serde_json::json!({ "number": number });
    Ok(Job::builder("noop").json_payload(&payload)?.build())
}
