//! From a directory to a report.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use queuekit::QueueName;
use queuekit::prelude::*;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::Result;
use super::directory::Directory;
use super::hash::{Checksum, Hasher};
use super::options::Options;
use super::progress::Progress;
use super::queue::RunQueue;
use super::report::{Failure, Report};
use super::walk::{self, Found};

/// A store's counts may be up to 5 s behind what has happened (contract R8.3).
const COUNTS_LAG_MAX: Duration = Duration::from_secs(10);

/// How long a file waits if its process was killed while hashing it.
const LEASE: Duration = Duration::from_secs(5);

/// The files that this process has found, and has enqueued unless an earlier one had.
struct Files {
    jobs: HashSet<JobId>,
    unreadable: Vec<Failure>,
}

/// Checksums the directory: files are found, enqueued and hashed at the same time.
pub(crate) async fn run(
    client: &Client,
    queue: &RunQueue,
    directory: &Directory,
    options: &Options,
) -> Result<Report> {
    let started = Instant::now();
    let hasher = Hasher::default();
    let retry = RetryPolicy::list([100, 1000].map(Duration::from_millis));
    let worker = Worker::new(client.clone())
        .name("checksum")
        .queue(queue.name.clone())
        .concurrency(options.workers)
        .lease_ttl(LEASE)
        .handle_with(hasher.clone(), KindOptions::new().retry(retry))
        .start()
        .await?;

    let found = Arc::new(AtomicU64::new(0));
    let (root, own) = (directory.root.clone(), store_files(client).await?);
    let enqueuing =
        enqueue_files(client.clone(), queue.name.clone(), root, own, Arc::clone(&found));
    let enqueuing = tokio::spawn(enqueuing);
    let mut progress = Progress::new(client.clone(), queue.name.clone(), found, hasher.clone())?;
    while !enqueuing.is_finished() {
        progress.tick().await?;
    }
    let files = enqueuing.await??;
    let mut report = collect(&mut progress, &files.jobs, options.print).await?;
    report.failures.extend(files.unreadable);
    report.hashed_before = queue.resumed.unwrap_or(0);
    report.bytes_hashed = hasher.bytes();
    report.elapsed = started.elapsed();
    worker.stop().await;
    Ok(report)
}

/// Waits until all jobs have ended by the store's counts, then reads the jobs. The jobs decide,
/// because counts may lag.
async fn collect(progress: &mut Progress, jobs: &HashSet<JobId>, print: bool) -> Result<Report> {
    let mut idle_since = None;
    loop {
        if progress.tick().await?.open > 0 {
            idle_since = None;
        } else {
            let report = Report::collect(&progress.client, &progress.queue, jobs, print).await?;
            let missing = jobs.len() as u64 - report.jobs;
            if missing == 0 {
                return Ok(report);
            }
            if idle_since.get_or_insert_with(Instant::now).elapsed() > COUNTS_LAG_MAX {
                return Err(format!("{missing} jobs are gone; did somebody delete them?").into());
            }
        }
    }
}

/// Enqueues a job per file, as many per call as a store accepts. Each file has an idempotency key,
/// so files that an earlier process of this run has enqueued are not enqueued again.
async fn enqueue_files(
    client: Client,
    queue: QueueName,
    root: PathBuf,
    leave_out: Vec<PathBuf>,
    found: Arc<AtomicU64>,
) -> Result<Files> {
    // A short channel makes the walk wait for the store, so that files do not pile up in memory.
    let (send, mut chunks) = mpsc::channel(2);
    let walking = spawn_blocking(move || walk::send_files(&root, &leave_out, &send));
    let mut jobs = HashSet::new();
    while let Some(chunk) = chunks.recv().await {
        let draft = |Found { path, key }| {
            JobDraft::of(&Checksum { path }).queue(queue.clone()).idempotency_key(key)
        };
        jobs.extend(client.enqueue_all(chunk.into_iter().map(draft)).await?.ids()?);
        found.store(jobs.len() as u64, Ordering::Relaxed);
    }
    Ok(Files { jobs, unreadable: walking.await? })
}

/// The store's own files, which change while jobs run: the SQLite file and those next to it.
async fn store_files(client: &Client) -> Result<Vec<PathBuf>> {
    let facts = client.inspect().facts().await?;
    let files = facts.iter().filter(|fact| fact.name == "file").map(|fact| &fact.value);
    Ok(files
        .flat_map(|file| ["", "-wal", "-shm"].map(|end| format!("{file}{end}").into()))
        .collect())
}
