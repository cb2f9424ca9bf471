//! Helpers of the cases of the worker suite.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use queuekit_core::capability::{Admin, Beat};
use queuekit_core::{Backend, Client, Job, JobDraft, JobFilter, JobId, Payload, Status};
use queuekit_worker::{RunningWorker, Worker};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::flaky::{Flaky, Switches};
use crate::{World, Wrapped};

/// How long a case waits for something that must happen: more than three times the longest limit.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Leases short enough to see their end.
pub(super) const SHORT_TTL: Duration = Duration::from_millis(600);
/// The TTL of a lease that must be kept even if the machine stands still for a second.
pub(super) const LONG_TTL: Duration = Duration::from_secs(3);

/// The payload of the suite's jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) n: u32,
}

impl Payload for Task {
    const KIND: &'static str = "task";
}

/// One store under a worker.
pub struct Live {
    /// The store's harness.
    pub world: Arc<dyn World>,
    /// What is broken of the store that the worker sees.
    pub switches: Arc<Switches>,
    /// A client of it.
    pub client: Client,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("switches", &self.switches).finish_non_exhaustive()
    }
}

impl Live {
    pub(super) fn new(world: Arc<dyn World>) -> Self {
        let switches = Arc::<Switches>::default();
        let flaky = Flaky::new(Arc::clone(world.backend()), Arc::clone(&switches));
        Self { world, switches, client: Client::new(Wrapped(flaky)) }
    }

    /// A worker of the queue `default`. Its leases last longer than a pause of the machine, and end
    /// before the patience of a case.
    pub(super) fn worker(&self) -> Worker {
        Worker::new(self.client.clone()).name("suite").lease_ttl_for_tests(LONG_TTL)
    }

    pub(super) async fn enqueue(&self, n: u32) -> JobId {
        self.client.enqueue(Task { n }).await.expect("enqueue")
    }

    pub(super) async fn enqueue_many(&self, count: u32) -> Vec<JobId> {
        let tasks = (0..count).map(|n| Task { n });
        let outcomes = self.client.enqueue_all(tasks).await.expect("enqueue");
        outcomes.into_iter().map(|outcome| outcome.job_id().expect("created")).collect()
    }

    pub(super) async fn enqueue_once(&self, max_attempts: u32) -> JobId {
        let request = self.client.enqueue(Task { n: 0 }).max_attempts(max_attempts);
        request.await.expect("enqueue")
    }

    pub(super) async fn enqueue_raw(&self, kind: &str, payload: &'static str) -> JobId {
        self.client.enqueue(JobDraft::new(kind, payload)).await.expect("enqueue")
    }

    pub(super) async fn job(&self, id: JobId) -> Job {
        self.world.backend().get_job(id).await.expect("get_job").expect("the job is stored")
    }

    pub(super) async fn count(&self, status: Status) -> usize {
        let filter = JobFilter::default().status(status);
        self.world.backend().list_jobs(&filter).await.expect("list_jobs").items.len()
    }

    /// Waits until the job is as it should be. Stores report no changes, so it polls.
    pub(super) async fn until(&self, id: JobId, what: impl Fn(&Job) -> bool) -> Job {
        let look = async {
            loop {
                let job = self.job(id).await;
                if what(&job) {
                    return job;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        match tokio::time::timeout(PATIENCE, look).await {
            Ok(job) => job,
            Err(_) => {
                panic!("the job did not reach the expected state in time: {:?}", self.job(id).await)
            }
        }
    }

    pub(super) async fn until_status(&self, id: JobId, status: Status) -> Job {
        self.until(id, |job| job.status == status).await
    }

    /// The first beat of a worker, once it is listed.
    pub(super) async fn beat_of(&self, worker: &RunningWorker) -> Beat {
        let look = async {
            loop {
                let mut workers = self.world.workers().await.into_iter();
                if let Some(info) = workers.find(|info| info.beat.id == *worker.id()) {
                    return info.beat;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        soon(look).await
    }

    pub(super) fn admin(&self) -> &dyn Admin {
        self.world.backend().capabilities().admin.expect("the store has Admin")
    }
}

/// Waits for something that must happen.
pub(super) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("the expected event did not happen in time")
}

/// Polls until the condition holds.
pub(super) async fn until(what: impl Fn() -> bool) {
    soon(async {
        while !what() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// A channel on which handlers report what happens to them.
pub(super) fn events<T>() -> (mpsc::UnboundedSender<T>, mpsc::UnboundedReceiver<T>) {
    mpsc::unbounded_channel()
}

/// The next report of a handler.
pub(super) async fn next<T>(events: &mut mpsc::UnboundedReceiver<T>) -> T {
    soon(events.recv()).await.expect("handlers still run")
}
