//! A job whose page is open, as it was last read.

use queuekit::jobs::{CheckpointInfo, Why, WhyFacts};
use queuekit::queues::QueueSettings;
use queuekit::store::{Bytes, Capabilities};
use queuekit::{Job, JobId, Status, Timestamp};

use crate::api::{App, Figures};

/// How often a running job is read before its steps are read again.
const READS_PER_STEPS: u8 = 2;

/// A job as it was last read.
#[derive(Clone)]
pub(in crate::ui) struct WatchedJob {
    /// Without its payload, which never changes; none if it is gone.
    pub(in crate::ui) job: Option<Job>,
    /// Why it has its status, once that is known.
    pub(in crate::ui) why: Option<Why>,
    /// When it was read, by the clock of this server.
    pub(in crate::ui) at: Timestamp,
    /// Whether the store is asked next why it waits.
    asks_why: bool,
    /// None until they were read.
    steps: Option<Steps>,
}

/// The steps of a job as they were last read.
#[derive(Clone)]
struct Steps {
    done: Vec<CheckpointInfo>,
    /// Status and number of leases that the job was known to have before.
    of: (Status, u64),
    /// How often the job was read since.
    reads: u8,
}

impl WatchedJob {
    /// Reads the job, or why it waits, or its steps, with one call: only the store knows why a job
    /// that could run does not, and only runs add steps.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn after(
        before: Option<&Self>,
        id: JobId,
        app: &App,
        figures: &Figures,
    ) -> queuekit::Result<Self> {
        let Capabilities { admin, checkpoints, .. } = app.store().capabilities();
        if let (Some(before), Some(admin)) = (before.filter(|before| before.asks_why), admin) {
            let why = admin.why(id).await?;
            let before = Self { asks_why: false, ..before.clone() };
            let is_told = why.as_ref().is_some_and(of_waiting);
            return Ok(if is_told { Self { why, ..before } } else { before });
        }
        if let (Some(before), Some(keeps)) = (before, checkpoints)
            && let Some(of) = before.steps_due(app)
        {
            let done = keeps.list_checkpoints(id).await?;
            return Ok(Self { steps: Some(Steps { done, of, reads: 0 }), ..before.clone() });
        }
        let (found, at) = (app.client().jobs().get(id).await?, app.now());
        Ok(Self::of(found, figures, at).with_why_of(before).with_steps_of(before, app))
    }

    /// The steps that its runs have done, once that is known.
    pub(in crate::ui) fn steps(&self) -> Option<&[CheckpointInfo]> {
        self.steps.as_ref().map(|steps| &*steps.done)
    }

    /// What the job is while its steps are read, if they may differ from those that were read last.
    /// Guard: the steps of a job that does not change are read once.
    fn steps_due(&self, app: &App) -> Option<(Status, u64)> {
        let job = self.job.as_ref().filter(|job| may_have_steps(job, app))?;
        let now = (job.status, job.lease_seq);
        let is_due = self.steps.as_ref().is_none_or(|steps| {
            let may_grow = job.status == Status::Running && steps.reads >= READS_PER_STEPS;
            steps.of != now || may_grow
        });
        is_due.then_some(now)
    }

    fn of(found: Option<Job>, figures: &Figures, at: Timestamp) -> Self {
        let Some(mut job) = found else {
            return Self { job: None, why: None, at, asks_why: false, steps: None };
        };
        let asks_why = waits(job.status);
        let why = (!asks_why).then(|| why(&job, figures, at));
        job.payload = Bytes::new();
        Self { job: Some(job), why, at, asks_why, steps: None }
    }

    /// A job that still waits keeps what was last known of why, until the store is asked again.
    fn with_why_of(mut self, before: Option<&Self>) -> Self {
        let status = |of: &Self| of.job.as_ref().map(|job| job.status);
        if self.why.is_none() {
            let same = before.filter(|before| status(before) == status(&self));
            self.why = same.and_then(|before| before.why.clone());
        }
        self
    }

    /// What was last read of its steps stays until they are read again.
    fn with_steps_of(mut self, before: Option<&Self>, app: &App) -> Self {
        self.steps = match &self.job {
            Some(job) if !may_have_steps(job, app) => {
                Some(Steps { done: Vec::new(), of: (job.status, job.lease_seq), reads: 0 })
            }
            Some(_) => before
                .and_then(|before| before.steps.clone())
                .map(|steps| Steps { reads: steps.reads.saturating_add(1), ..steps }),
            None => None,
        };
        self
    }
}

/// A job that was never leased has no steps.
pub(in crate::ui) fn may_have_steps(job: &Job, app: &App) -> bool {
    job.lease_seq > 0 && app.store().capabilities().checkpoints.is_some()
}

/// Whether only the store knows why the job does not run.
fn waits(status: Status) -> bool {
    matches!(status, Status::Ready | Status::Blocked | Status::Expired)
}

/// Whether this is why a job of such a status does not run.
fn of_waiting(why: &Why) -> bool {
    matches!(
        why,
        Why::Ready { .. }
            | Why::NoLiveWorker { .. }
            | Why::Paused { .. }
            | Why::Blocked { .. }
            | Why::Expired { .. }
    )
}

/// Why a job of another status has it.
fn why(job: &Job, figures: &Figures, at: Timestamp) -> Why {
    let queue = figures.queues.iter().find(|queue| queue.name == job.queue);
    let unknown = QueueSettings::default();
    let serves = |beat: &queuekit::workers::Beat| beat.serves(&job.queue, &job.kind);
    Why::of(WhyFacts {
        job,
        now: queue.map_or(at, |queue| queue.as_of),
        overdue: std::time::Duration::ZERO,
        settings: queue.map_or(&unknown, |queue| &queue.settings),
        has_live_worker: figures.workers.iter().any(|worker| serves(&worker.beat)),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    use queuekit::jobs::{CheckpointOutcome, LeaseToken, NewCheckpoint};
    use queuekit::memory::MemoryStore;
    use queuekit::store::{Backend, Nack, NackKind};
    use queuekit::{JobDraft, QueueName};
    use queuekit_conformance::kit::{checkpoint_name, request};

    use super::*;
    use crate::api::test_app::app_counting;

    /// Reads the job this often, and returns it as it was read last.
    async fn read(times: u32, before: Option<WatchedJob>, id: JobId, app: &App) -> WatchedJob {
        let figures = app.figures().await.unwrap();
        let mut last = before;
        for _ in 0..times {
            last = Some(WatchedJob::after(last.as_ref(), id, app, &figures).await.unwrap());
        }
        last.unwrap()
    }

    fn names(job: &WatchedJob) -> Vec<&str> {
        job.steps().expect("they were read").iter().map(|step| step.name.as_str()).collect()
    }

    /// Guard: without a condition, each page of a job that has ended reads its steps for ever.
    #[tokio::test(start_paused = true)]
    async fn s6_steps_are_read_while_a_job_runs_and_once_after_each_change() {
        let store: Arc<dyn Backend> = Arc::new(MemoryStore::new());
        let (app, calls) = app_counting("list_checkpoints", &store);
        let calls = || calls.swap(0, Ordering::SeqCst);
        let id = app.client().enqueue(JobDraft::new("t", "1")).await.unwrap();
        let watched = read(10, None, id, &app).await;
        assert_eq!((names(&watched), calls()), (vec![], 0), "it was never leased");

        let lease = reserve(&*store).await;
        let watched = read(2, Some(watched), id, &app).await;
        assert_eq!((names(&watched), calls()), (vec![], 1));
        put(&*store, &lease, "charge").await;
        let watched = read(3, Some(watched), id, &app).await;
        assert_eq!((names(&watched), calls()), (vec!["charge"], 1));
        put(&*store, &lease, "ship").await;
        let nack = Nack::new(lease, NackKind::Fatal, "no stock", Duration::ZERO);
        store.nack(&[nack]).await.unwrap();
        let watched = read(20, Some(watched), id, &app).await;
        assert_eq!((names(&watched), calls()), (vec!["charge", "ship"], 1), "it has ended");
        read(20, Some(watched.clone()), id, &app).await;
        assert_eq!(calls(), 0);

        assert!(app.client().jobs().retry_fresh(id).await.unwrap());
        let watched = read(20, Some(watched), id, &app).await;
        assert_eq!((names(&watched), calls()), (vec![], 1), "they are forgotten");
    }

    async fn reserve(store: &dyn Backend) -> LeaseToken {
        let leased = store.reserve(&request(QueueName::default(), 1)).await.unwrap().leases;
        leased.into_iter().next().expect("a job").token
    }

    async fn put(store: &dyn Backend, lease: &LeaseToken, name: &str) {
        let new = NewCheckpoint::new(lease.clone(), checkpoint_name(name), "1").unwrap();
        let keeps = store.capabilities().checkpoints.expect("checkpoints");
        assert_eq!(keeps.put_checkpoint(&new).await.unwrap(), CheckpointOutcome::Stored);
    }
}
