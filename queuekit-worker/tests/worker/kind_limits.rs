//! How many jobs of a kind run at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{Fixture, Greet, PATIENCE, greet};
use queuekit_core::memory::MemoryStore;
use queuekit_core::{Client, JobDraft, JobId, ManualClock};
use queuekit_worker::{Bytes, Ctx, JobResult, RunningWorker, Worker};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

/// A worker with four slots that runs one `greet` at a time, each when it may.
struct Limited {
    fixture: Fixture,
    running: RunningWorker,
    may_end: Arc<Semaphore>,
    starts: mpsc::UnboundedReceiver<JobId>,
    most: Arc<AtomicUsize>,
}

impl Limited {
    async fn start(fixture: Fixture) -> Self {
        let (started, starts) = mpsc::unbounded_channel();
        let may_end = Arc::new(Semaphore::new(0));
        let (at_work, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (ends, seen) = (Arc::clone(&may_end), Arc::clone(&most));
        let handler = move |_: Greet, ctx: Ctx| {
            let (started, ends) = (started.clone(), Arc::clone(&ends));
            let (at_work, seen) = (Arc::clone(&at_work), Arc::clone(&seen));
            async move {
                seen.fetch_max(at_work.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                started.send(ctx.id()).unwrap();
                ends.acquire().await.unwrap().forget();
                at_work.fetch_sub(1, Ordering::SeqCst);
                JobResult::Ok(())
            }
        };
        let other = |_: Bytes, _: Ctx| async { JobResult::Ok(None) };
        let worker = fixture.worker().concurrency(4).kind_concurrency("greet", 1);
        let worker = worker.handle(handler).handle_raw("other", other);
        let running = worker.start().await.unwrap();
        Self { fixture, running, may_end, starts, most }
    }

    async fn until(&self, id: JobId, status: &str) {
        let look = async {
            while self.fixture.status(id).await != status {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        };
        timeout(PATIENCE, look).await.unwrap();
    }

    async fn started(&mut self) -> JobId {
        timeout(PATIENCE, self.starts.recv()).await.unwrap().unwrap()
    }
}

#[tokio::test]
async fn one_runs_one_waits_and_the_others_are_released_once() {
    // Its clock stands still: what is released stays so.
    let store = MemoryStore::with_clock(ManualClock::default());
    let fixture = Fixture { client: Client::new(store.clone()), store };
    let mut ids = Vec::new();
    for _ in 0..10 {
        ids.push(fixture.enqueue(greet("Ada")).await);
    }
    let other = fixture.enqueue(JobDraft::new("other", "1")).await;
    let mut limited = Limited::start(fixture).await;
    assert_eq!(limited.started().await, ids[0]);
    limited.until(other, "completed").await;
    for id in &ids[2..] {
        limited.until(*id, "scheduled").await;
        let job = limited.fixture.job(*id).await;
        assert_eq!((job.attempts, job.releases), (0, 1));
    }
    assert_eq!(limited.fixture.status(ids[1]).await, "running");
    limited.may_end.add_permits(1);
    assert_eq!(limited.started().await, ids[1]);
    limited.may_end.add_permits(1);
    limited.until(ids[1], "completed").await;
    let summary = limited.running.drain(PATIENCE).await;
    assert_eq!(summary.completed, 3);
    assert_eq!(limited.most.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_job_that_waits_for_its_kind_can_be_cancelled() {
    let fixture = Fixture::new();
    let first = fixture.enqueue(greet("Ada")).await;
    let second = fixture.enqueue(greet("Bob")).await;
    let mut limited = Limited::start(fixture).await;
    assert_eq!(limited.started().await, first);
    limited.until(second, "running").await;
    let _ = limited.fixture.client.jobs().cancel(second).await.unwrap();
    limited.until(second, "cancelled").await;
    limited.may_end.add_permits(1);
    let summary = limited.running.drain(PATIENCE).await;
    assert_eq!((summary.completed, summary.cancelled, summary.total()), (1, 1, 2));
}

#[tokio::test]
async fn a_drain_releases_a_job_that_waits_for_its_kind() {
    let fixture = Fixture::new();
    let first = fixture.enqueue(greet("Ada")).await;
    let second = fixture.enqueue(greet("Bob")).await;
    let mut limited = Limited::start(fixture).await;
    assert_eq!(limited.started().await, first);
    limited.until(second, "running").await;
    let release = async {
        limited.until(second, "ready").await;
        limited.may_end.add_permits(1);
    };
    let (summary, ()) = tokio::join!(limited.running.drain(PATIENCE), release);
    assert_eq!((summary.completed, summary.released, summary.total()), (1, 1, 2));
    assert_eq!(limited.fixture.job(second).await.attempts, 0);
}

#[tokio::test]
async fn a_limit_of_a_kind_without_handler_is_a_mistake() {
    let fixture = Fixture::new();
    let worker = Worker::new(fixture.client.clone()).kind_concurrency("greet", 1);
    let error = worker.start().await.unwrap_err();
    assert!(error.to_string().contains("kind_concurrency"), "{error}");
    let worker = Worker::new(fixture.client.clone()).kind_concurrency("greet", 0);
    assert!(worker.start().await.is_err());
}
