//! Our store on SQLite, measured as `cargo xtask peers` wants it.

#[path = "../../peers/calls.rs"]
mod calls;
#[path = "../../peers/directory.rs"]
mod directory;
#[path = "../../peers/harness.rs"]
mod harness;
#[expect(dead_code, reason = "waits of single jobs are not measured")]
#[path = "../../peers/queuekit.rs"]
mod queuekit;

use std::ops::Range;
use std::time::Instant;

use directory::Directory;
use harness::{Peer, Result, Settings};
use queuekit::{Noop, QueueKit};
use queuekit_core::Client;
use queuekit_sqlite::SqliteStore;
use tokio::runtime::Runtime;

fn main() -> Result<()> {
    // A runtime as `#[tokio::main]` makes it.
    Runtime::new()?.block_on(harness::run::<Sqlite>())
}

#[derive(Clone)]
struct Sqlite(QueueKit);

impl Peer for Sqlite {
    const NAME: &'static str = "queuekit";

    const SETTINGS: &'static [(&'static str, &'static str)] = &[("slots", "100")];

    type Place = Directory;

    async fn open(directory: &Directory, settings: &Settings) -> Result<Self> {
        let path = directory.path().join("jobs.db");
        let store = SqliteStore::open(path.to_str().ok_or("--dir is to be UTF-8")?).await?;
        Ok(Self(QueueKit::new(Client::new(store), settings.get("slots")?)))
    }

    async fn store(&self) -> Result<String> {
        self.0.facts(["sqlite version", "journal_mode", "synchronous"]).await
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

    async fn completed(&self) -> Result<usize> {
        self.0.completed().await
    }

    async fn close(self) -> Result<()> {
        self.0.close().await
    }
}
