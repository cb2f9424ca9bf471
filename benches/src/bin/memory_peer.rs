//! Our store in memory, measured as `cargo xtask pairs` wants it.

#[path = "../../peers/calls.rs"]
mod calls;
#[expect(dead_code, reason = "the store has no files")]
#[path = "../../peers/directory.rs"]
mod directory;
#[path = "../../peers/harness.rs"]
mod harness;
#[expect(dead_code, reason = "the store has no facts")]
#[path = "../../peers/queuekit.rs"]
mod queuekit;

use std::ops::Range;
use std::time::Instant;

use directory::Directory;
use harness::{Peer, Result, Settings};
use queuekit::{Noop, QueueKit};
use queuekit_core::Client;
use queuekit_core::memory::MemoryStore;
use tokio::runtime::Runtime;

fn main() -> Result<()> {
    // A runtime as `#[tokio::main]` makes it.
    Runtime::new()?.block_on(harness::run::<Memory>())
}

#[derive(Clone)]
struct Memory(QueueKit);

impl Peer for Memory {
    const NAME: &'static str = "queuekit";

    const SETTINGS: &'static [(&'static str, &'static str)] = &[("slots", "100")];

    /// It stays empty.
    type Place = Directory;

    async fn open(_: &Directory, settings: &Settings) -> Result<Self> {
        let client = Client::new(MemoryStore::new());
        Ok(Self(QueueKit::new(client, settings.get("slots")?)))
    }

    async fn store(&self) -> Result<String> {
        Ok("memory".to_owned())
    }

    async fn enqueue(&self, number: usize) -> Result<()> {
        self.0.enqueue(Noop::new(number)).await
    }

    async fn enqueue_all(&self, numbers: Range<usize>) -> Result<()> {
        self.0.enqueue_all(numbers.map(Noop::new)).await
    }

    async fn drain(&self, jobs: usize) -> Result<Instant> {
        self.0.drain(jobs).await
    }

    /// What was handled: every version of the store can tell that.
    async fn completed(&self) -> Result<usize> {
        Ok(self.0.called())
    }

    async fn close(self) -> Result<()> {
        self.0.close().await
    }
}
