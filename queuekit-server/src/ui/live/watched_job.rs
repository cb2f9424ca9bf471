//! A job whose page is open, as it was last read.

use queuekit::jobs::{Why, WhyFacts};
use queuekit::queues::QueueSettings;
use queuekit::store::Bytes;
use queuekit::{Job, JobId, Status, Timestamp};

use crate::api::{App, Figures};

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
}

impl WatchedJob {
    /// Reads the job, or why it waits: only the store knows why a job that could run does not, so
    /// that such a job takes two calls.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn after(
        before: Option<&Self>,
        id: JobId,
        app: &App,
        figures: &Figures,
    ) -> queuekit::Result<Self> {
        let admin = app.store().capabilities().admin;
        if let (Some(before), Some(admin)) = (before.filter(|before| before.asks_why), admin) {
            let why = admin.why(id).await?;
            let before = Self { asks_why: false, ..before.clone() };
            let is_told = why.as_ref().is_some_and(of_waiting);
            return Ok(if is_told { Self { why, ..before } } else { before });
        }
        let (found, at) = (app.client().jobs().get(id).await?, app.now());
        Ok(Self::of(found, figures, at).with_why_of(before))
    }

    fn of(found: Option<Job>, figures: &Figures, at: Timestamp) -> Self {
        let Some(mut job) = found else {
            return Self { job: None, why: None, at, asks_why: false };
        };
        let asks_why = waits(job.status);
        let why = (!asks_why).then(|| why(&job, figures, at));
        job.payload = Bytes::new();
        Self { job: Some(job), why, at, asks_why }
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
