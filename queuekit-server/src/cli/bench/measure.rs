//! What is measured: through the same client and worker that programs use.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use queuekit::jobs::Kind;
use queuekit::{Bytes, Client, Ctx, JobDraft, QueueName, Worker};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::JoinSet;

use super::figure::Figure;
use crate::cli::bulk::progress;

/// A single caller enqueues a fraction of the jobs, because each call takes its time.
const ONE_BY_ONE: usize = 20;
const PICKUPS: usize = 200;
/// By then a worker has settled its job and is idle.
const IDLE_AFTER: Duration = Duration::from_millis(5);
const BATCH: usize = 1000;

/// The size of the measurement.
pub(super) struct Plan {
    pub(super) queue: QueueName,
    pub(super) jobs: usize,
    pub(super) callers: usize,
    pub(super) payload_bytes: usize,
}

impl Plan {
    /// Enqueues in three ways, works all jobs, then measures pickups one by one.
    pub(super) async fn run(&self, client: &Client) -> Result<Vec<Figure>> {
        let job = self.job()?;
        let mut figures = vec![self.one_caller(client, &job).await?];
        figures.push(self.many_callers(client, &job).await?);
        figures.push(self.batches(client, &job).await?);
        let stored = figures.iter().map(|figure| figure.jobs).sum();
        figures.push(self.drain(client, stored).await?);
        figures.push(self.pickup(client, &job).await?);
        Ok(figures)
    }

    fn job(&self) -> Result<JobDraft> {
        let payload = format!("\"{}\"", "x".repeat(self.payload_bytes.saturating_sub(2)));
        let job = JobDraft::new(Kind::new("bench")?, payload).queue(self.queue.clone());
        // Report invalid settings before anything is stored.
        job.clone().build()?;
        Ok(job)
    }

    async fn one_caller(&self, client: &Client, job: &JobDraft) -> Result<Figure> {
        let jobs = (self.jobs / ONE_BY_ONE).max(1);
        let bar = progress(jobs as u64, "enqueue, one caller");
        let (begun, mut latencies) = (Instant::now(), Vec::with_capacity(jobs));
        for _ in 0..jobs {
            let before = Instant::now();
            client.enqueue(job.clone()).await?;
            latencies.push(before.elapsed());
            bar.inc(1);
        }
        let figure = Figure::rate("enqueue, one caller", jobs, begun.elapsed());
        bar.finish_and_clear();
        Ok(figure.with_latencies(latencies))
    }

    async fn many_callers(&self, client: &Client, job: &JobDraft) -> Result<Figure> {
        let bar = progress(self.jobs as u64, "enqueue, many callers");
        let (begun, mut callers) = (Instant::now(), JoinSet::new());
        for caller in 0..self.callers {
            let jobs = self.jobs / self.callers + usize::from(caller < self.jobs % self.callers);
            let (client, job, bar) = (client.clone(), job.clone(), bar.clone());
            callers.spawn(async move {
                let mut latencies = Vec::with_capacity(jobs);
                for _ in 0..jobs {
                    let before = Instant::now();
                    client.enqueue(job.clone()).await?;
                    latencies.push(before.elapsed());
                    bar.inc(1);
                }
                Ok::<_, queuekit::Error>(latencies)
            });
        }
        let mut latencies = Vec::with_capacity(self.jobs);
        while let Some(ended) = callers.join_next().await {
            latencies.extend(ended.context("a caller panicked")??);
        }
        let figure = Figure::rate("enqueue, many callers", self.jobs, begun.elapsed());
        bar.finish_and_clear();
        Ok(figure.with_latencies(latencies))
    }

    async fn batches(&self, client: &Client, job: &JobDraft) -> Result<Figure> {
        let limits = client.backend().capabilities().limits;
        let most = (limits.enqueue_bytes() / (self.payload_bytes + 1024)).clamp(1, BATCH);
        let bar = progress(self.jobs as u64, "enqueue, in batches");
        let (begun, mut left) = (Instant::now(), self.jobs);
        while left > 0 {
            let step = left.min(most);
            client.enqueue_all(std::iter::repeat_n(job.clone(), step)).await?.ids()?;
            left -= step;
            bar.inc(step as u64);
        }
        let figure = Figure::rate("enqueue, in batches", self.jobs, begun.elapsed());
        bar.finish_and_clear();
        Ok(figure)
    }

    async fn drain(&self, client: &Client, jobs: usize) -> Result<Figure> {
        let bar = Arc::new(progress(jobs as u64, "work"));
        let counted = Arc::clone(&bar);
        let handler = move |_payload: Bytes, _ctx: Ctx| {
            counted.inc(1);
            async { queuekit::JobResult::Ok(None) }
        };
        let worker = self.worker(client).handle_raw(Kind::new("bench")?, handler).concurrency(100);
        let begun = Instant::now();
        let summary = worker.run_until_idle().await?;
        let took = begun.elapsed();
        bar.finish_and_clear();
        // A job that ran twice may count twice.
        if (summary.completed as usize) < jobs {
            return Err(anyhow!("only {} of {jobs} jobs were completed", summary.completed));
        }
        Ok(Figure::rate("work, 100 slots", jobs, took))
    }

    async fn pickup(&self, client: &Client, job: &JobDraft) -> Result<Figure> {
        let pickups = PICKUPS.min(self.jobs);
        let (send, mut starts) = mpsc::unbounded_channel();
        let handler = move |_payload: Bytes, _ctx: Ctx| {
            let sent = send.send(Instant::now());
            async move { queuekit::JobResult::Ok(sent.map(|()| None)?) }
        };
        let worker = self.worker(client).handle_raw(Kind::new("bench")?, handler);
        let running = worker.start().await?;
        let measured = pickups_of(client, job, pickups, &mut starts).await;
        running.stop().await;
        let name = "pickup by an idle worker";
        let figure = Figure { name, jobs: pickups, per_second: None, p50_ms: None, p99_ms: None };
        Ok(figure.with_latencies(measured?))
    }

    fn worker(&self, client: &Client) -> Worker {
        Worker::new(client.clone()).queue(self.queue.clone()).name("bench")
    }
}

/// The times from before an enqueue until its handler starts.
async fn pickups_of(
    client: &Client,
    job: &JobDraft,
    pickups: usize,
    starts: &mut UnboundedReceiver<Instant>,
) -> Result<Vec<Duration>> {
    let bar = progress(pickups as u64, "pickup");
    let mut latencies = Vec::with_capacity(pickups);
    for _ in 0..pickups {
        tokio::time::sleep(IDLE_AFTER).await;
        let before = Instant::now();
        client.enqueue(job.clone()).await?;
        let start = starts.recv().await.context("the worker ended")?;
        latencies.push(start - before);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(latencies)
}

/// A random number, for a unique name.
pub(super) fn random() -> Result<u64> {
    getrandom::u64().map_err(|error| anyhow!("cannot get random bytes from the system: {error}"))
}
