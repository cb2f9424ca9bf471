//! An idle worker that sends its server nothing (contract R13.12).

use std::time::Duration;

use queuekit_core::{Client, Payload};
use queuekit_integration_tests::crash::is_long;
use queuekit_worker::{Ctx, JobResult, RunningWorker, Worker};
use serde::{Deserialize, Serialize};

/// A job of the worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task;

impl Payload for Task {
    const KIND: &'static str = "task";
}

/// How long the worker is watched: 15 s, 5 minutes in the long tier.
pub(crate) fn watched_for() -> Duration {
    Duration::from_secs(if is_long() { 300 } else { 15 })
}

/// A worker with the defaults.
pub(crate) async fn worker(client: Client, is_quiet: bool) -> RunningWorker {
    let handler = |_: Task, _: Ctx| async { JobResult::Ok(()) };
    let worker = Worker::new(client).quiet_when_idle(is_quiet).handle(handler);
    worker.start().await.expect("a worker")
}

/// Waits until the worker rests, and has said so.
pub(crate) async fn rests(worker: &RunningWorker) {
    while !worker.probe().health().resting {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Enqueues a job elsewhere; the worker runs it at once, and then rests again.
pub(crate) async fn is_rung(worker: &RunningWorker, elsewhere: &Client) {
    elsewhere.enqueue(Task).await.expect("an enqueue");
    let run = async {
        while worker.snapshot().counters.completed == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        rests(worker).await;
    };
    tokio::time::timeout(Duration::from_secs(20), run).await.expect("the worker is rung");
}
