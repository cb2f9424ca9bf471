//! From a directory to a report.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use queuekit::capability::Admin;
use queuekit::prelude::*;
use queuekit::queue::{Keep, Retention};
use queuekit::{JobDraft, QueueName, QueuePatch};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::Result;
use crate::hash::{Checksum, Hasher};
use crate::options::Options;
use crate::progress::Progress;
use crate::report::{Failure, Report};
use crate::walk;

/// A store's counts may be up to 5 s behind what has happened (contract R8.3).
const COUNTS_LAG_MAX: Duration = Duration::from_secs(10);

/// Checksums the directory: files are found, enqueued and hashed at the same time.
pub(crate) async fn run(client: &Client, options: &Options) -> Result<Report> {
    let started = Instant::now();
    let admin = client.backend().capabilities().admin;
    let admin = admin.ok_or("the store has no Admin, so it cannot be told to keep all results")?;
    let queue = open_queue(admin).await?;
    let hasher = Hasher::default();
    let retry = RetryPolicy::list([100, 1000].map(Duration::from_millis));
    let worker = Worker::new(client.clone())
        .name("checksum")
        .queue(queue.clone())
        .concurrency(options.workers)
        .handle_with(hasher.clone(), KindOptions::new().retry(retry))
        .start()
        .await?;

    let found = Arc::new(AtomicU64::new(0));
    let directory = options.directory.clone();
    let enqueuing = enqueue_files(client.clone(), queue.clone(), directory, Arc::clone(&found));
    let enqueuing = tokio::spawn(enqueuing);
    let mut progress = Progress::new(client.clone(), queue.clone(), found, hasher.clone())?;
    while !enqueuing.is_finished() {
        progress.tick().await?;
    }
    let unreadable = enqueuing.await??;
    let mut report = collect(&mut progress, options.print).await?;
    report.failures.extend(unreadable);
    report.bytes = hasher.bytes();
    report.elapsed = started.elapsed();
    worker.stop().await;
    // What was collected may go in its time.
    admin.configure(&queue, &QueuePatch::default().retention(Retention::default())).await?;
    Ok(report)
}

/// Waits until all jobs have ended by the store's counts, then reads them. The jobs themselves
/// have the last word: counts may lag.
async fn collect(progress: &mut Progress, print: bool) -> Result<Report> {
    let mut idle_since = None;
    loop {
        if progress.tick().await?.open > 0 {
            idle_since = None;
        } else {
            let report = Report::collect(&progress.client, &progress.queue, print).await?;
            let missing = progress.found().saturating_sub(report.jobs);
            if missing == 0 {
                return Ok(report);
            }
            if idle_since.get_or_insert_with(Instant::now).elapsed() > COUNTS_LAG_MAX {
                return Err(format!("{missing} jobs are gone; did somebody delete them?").into());
            }
        }
    }
}

/// A queue of this run alone, so that no other run's files are counted. Its results are kept until
/// they are collected, however many there are.
async fn open_queue(admin: &dyn Admin) -> Result<QueueName> {
    let name = format!("checksum-{:016x}", RandomState::new().hash_one(0));
    let queue = QueueName::new(name)?;
    let keep_all = Retention { done: Keep::ALL, ..Retention::default() };
    admin.configure(&queue, &QueuePatch::default().retention(keep_all)).await?;
    Ok(queue)
}

/// Enqueues a job per file, as many per call as a store takes; answers what could not be read.
async fn enqueue_files(
    client: Client,
    queue: QueueName,
    directory: PathBuf,
    found: Arc<AtomicU64>,
) -> Result<Vec<Failure>> {
    // Short, so that the walk waits for the store and not the other way round in memory.
    let (send, mut chunks) = mpsc::channel(2);
    let walking = spawn_blocking(move || walk::send_files(&directory, &send));
    while let Some(chunk) = chunks.recv().await {
        let draft = |path| JobDraft::of(&Checksum { path }).queue(queue.clone());
        let outcomes = client.enqueue_all(chunk.into_iter().map(draft)).await?;
        if let Some(refused) = outcomes.iter().find(|outcome| !outcome.is_created()) {
            return Err(format!("the store did not take a job: {refused:?}").into());
        }
        found.fetch_add(outcomes.len() as u64, Ordering::Relaxed);
    }
    Ok(walking.await?)
}
