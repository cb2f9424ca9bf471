//! Our store on SQLite, measured as `cargo xtask peers` wants it.

#[path = "../../peers/directory.rs"]
mod directory;
#[path = "../../peers/harness.rs"]
mod harness;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use directory::Directory;
use harness::{Peer, Result, Settings};
use queuekit_core::{BackendExt, Client, Payload, State};
use queuekit_sqlite::SqliteStore;
use queuekit_worker::{Ctx, JobResult, Worker};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;
use tokio::sync::Notify;

fn main() -> Result<()> {
    // A runtime as `#[tokio::main]` makes it.
    Runtime::new()?.block_on(harness::run::<QueueKit>())
}

#[derive(Serialize, Deserialize)]
struct Noop {
    number: usize,
}

impl Payload for Noop {
    const KIND: &'static str = "noop";
}

#[derive(Clone)]
struct QueueKit {
    client: Client,
    slots: usize,
}

impl Peer for QueueKit {
    const NAME: &'static str = "queuekit";

    const SETTINGS: &'static [(&'static str, &'static str)] = &[("slots", "100")];

    type Place = Directory;

    async fn open(directory: &Directory, settings: &Settings) -> Result<Self> {
        let path = directory.path().join("jobs.db");
        let store = SqliteStore::open(path.to_str().ok_or("--dir is to be UTF-8")?).await?;
        Ok(Self { client: Client::new(store), slots: settings.get("slots")? })
    }

    async fn store(&self) -> Result<String> {
        let capabilities = self.client.backend().capabilities();
        let facts = capabilities.inspect.ok_or("the store has Inspect")?.facts().await?;
        let told = ["sqlite version", "journal_mode", "synchronous"].map(|name| {
            let fact = facts.iter().find(|fact| fact.name == name);
            format!("{name} {}", fact.map_or("unknown", |fact| &fact.value))
        });
        Ok(told.join(", "))
    }

    async fn enqueue(&self, number: usize) -> Result<()> {
        self.client.enqueue(Noop { number }).await?;
        Ok(())
    }

    async fn enqueue_all(&self, numbers: Range<usize>) -> Result<()> {
        self.client.enqueue_all(numbers.map(|number| Noop { number })).await?.ids()?;
        Ok(())
    }

    async fn drain(&self, jobs: usize) -> Result<Instant> {
        let called = Arc::new(AtomicUsize::new(0));
        let last = Arc::new(Notify::new());
        let ring = Arc::clone(&last);
        let handler = move |_job: Noop, _ctx: Ctx| {
            if called.fetch_add(1, Ordering::Relaxed) + 1 == jobs {
                ring.notify_one();
            }
            async { JobResult::Ok(()) }
        };
        let worker = Worker::new(self.client.clone()).concurrency(self.slots).handle(handler);
        let worker = worker.start().await?;
        last.notified().await;
        // Until the last ack is stored, and the rest of the worker's end with it.
        worker.drain(Duration::from_secs(10)).await;
        Ok(Instant::now())
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
