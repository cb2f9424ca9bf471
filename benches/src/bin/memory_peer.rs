//! Our store in memory, measured as `cargo xtask pairs` wants it.

#[expect(dead_code, reason = "the store has no files")]
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
use queuekit_core::memory::MemoryStore;
use queuekit_core::{Client, Payload};
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
    called: Arc<AtomicUsize>,
}

impl Peer for QueueKit {
    const NAME: &'static str = "queuekit";

    const SETTINGS: &'static [(&'static str, &'static str)] = &[("slots", "100")];

    /// It stays empty.
    type Place = Directory;

    async fn open(_: &Directory, settings: &Settings) -> Result<Self> {
        let client = Client::new(MemoryStore::new());
        Ok(Self { client, slots: settings.get("slots")?, called: Arc::default() })
    }

    async fn store(&self) -> Result<String> {
        Ok("memory".to_owned())
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
        let called = Arc::clone(&self.called);
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

    /// What was handled: every version of the store can tell that.
    async fn completed(&self) -> Result<usize> {
        Ok(self.called.load(Ordering::Relaxed))
    }

    async fn close(self) -> Result<()> {
        Ok(self.client.close().await?)
    }
}
