//! A nightly report: a cron schedule that is declared at each start.
//!
//! Declaring the schedule again changes nothing, so every replica may do so. All workers enqueue
//! the occurrences that are due, and each occurrence is enqueued once. This example also runs the
//! report at once, so you need not wait until night.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::{Duration, SystemTime};

use queuekit::memory::MemoryStore;
use queuekit::prelude::*;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "report")]
struct Report {
    of: String,
}

#[tokio::main]
async fn main() -> queuekit::Result<()> {
    let client = Client::new(MemoryStore::new());
    let report = JobDraft::of(&Report { of: "sales".into() });
    let nightly = ScheduleDraft::cron("nightly-report", "30 2 * * *", report)
        .zone("Europe/Berlin")
        // If no worker ran at that time, the report runs once when a worker starts.
        .catch_up(CatchUp::Once)
        .overlap(Overlap::Skip);
    let declared = client.schedule(nightly).await?;
    println!("nightly-report: {declared:?}");

    let (tell, mut told) = mpsc::unbounded_channel();
    let worker = Worker::new(client.clone()).handle(move |report: Report, _ctx: Ctx| {
        let told = tell.send(report.of);
        async { told.map_err(JobError::fatal) }
    });
    let worker = worker.start().await?;

    let schedules = client.schedules();
    #[expect(clippy::disallowed_methods, reason = "an application reads its own clock")]
    let now = SystemTime::now().into();
    for next in schedules.upcoming("nightly-report", 3).await? {
        let wait = next.since(now);
        println!("  runs in {} h {} min", wait.as_secs() / 3600, wait.as_secs() / 60 % 60);
    }
    let job = schedules.run_now("nightly-report").await?;
    println!("asked to run now: {job}");
    if let Some(of) = told.recv().await {
        println!("the report of {of} is done");
    }
    worker.drain(Duration::from_secs(5)).await;
    Ok(())
}
