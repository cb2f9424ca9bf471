//! An application that uses another database crate: its jobs, steps and acks are part of its own
//! transactions, as docs/transactions.md says. `cargo xtask beside` builds it with each crate.
//!
//! `cargo run -- URL` runs it, on a Postgres database of its own.

mod driver;

use std::time::Duration;

use queuekit::jobs::{Ack, AckOutcome, CheckpointOutcome, NewCheckpoint};
use queuekit::store::{CheckpointName, LeaseTtl, Reserve, State, WorkerId};
use queuekit::transactions::Functions;
use queuekit::{JobDraft, QueueName};

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    Commit,
    Rollback,
}

#[tokio::main]
async fn main() -> Result<()> {
    let url = std::env::args().nth(1).ok_or("give the URL of a Postgres database")?;
    let client = queuekit::connect(&url).await?;
    let functions = Functions::default();
    let queue = QueueName::default();
    driver::run(&url, &functions.create_queue(&queue, false)?, End::Commit).await?;

    let job = JobDraft::new("ship-order", r#"{"order":7}"#).build()?;
    let id = job.id();
    for end in [End::Rollback, End::Commit] {
        let statement = functions.enqueue(std::slice::from_ref(&job))?;
        assert_eq!(driver::run(&url, &statement, end).await?.ids()?, [id]);
        let exists = client.jobs().get(id).await?.is_some();
        assert_eq!(exists, end == End::Commit, "after the {end:?}");
    }

    let ttl = LeaseTtl::new(Duration::from_secs(30))?;
    let request = Reserve::new(queue, 1, ttl, WorkerId::new("beside")?)?;
    let lease = client.backend().reserve(&request).await?.leases.remove(0);
    let name = CheckpointName::new("reserve-stock")?;
    let step = NewCheckpoint::new(lease.token.clone(), name, "null")?;
    for (end, outcome, stored) in [
        (End::Rollback, CheckpointOutcome::Stored, 0),
        (End::Commit, CheckpointOutcome::Stored, 1),
        // The rows of the step are written once.
        (End::Rollback, CheckpointOutcome::Conflict, 1),
    ] {
        let statement = functions.checkpoint(&step)?;
        assert_eq!(driver::run(&url, &statement, end).await?, outcome);
        assert_eq!(client.jobs().checkpoints(id).await?.len(), stored, "after the {end:?}");
    }

    for (end, state) in [(End::Rollback, State::Running), (End::Commit, State::Completed)] {
        let statement = functions.ack(&[Ack::new(lease.token.clone())])?;
        assert_eq!(driver::run(&url, &statement, end).await?, [AckOutcome::Acked]);
        let job = client.jobs().get(id).await?.ok_or("the job is gone")?;
        assert_eq!(job.state, state, "after the {end:?}");
    }
    client.close().await?;
    Ok(())
}
