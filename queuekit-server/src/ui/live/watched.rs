//! The jobs whose pages are open. They are read in turns, one in a call of the store, however many
//! viewers each has.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use queuekit::jobs::{Why, WhyFacts};
use queuekit::store::Bytes;
use queuekit::{Job, JobId, Status, Timestamp};
use tokio::time::Instant;

use crate::api::{App, Figures};

/// Which jobs are read.
#[derive(Default)]
pub(in crate::ui) struct Watched(Mutex<HashMap<JobId, Entry>>);

#[derive(Default)]
struct Entry {
    viewers: usize,
    /// When it was last read, or tried to be.
    read: Option<Instant>,
    asks: Asks,
    latest: Option<Arc<WatchedJob>>,
}

/// What the next call is for. Only the store knows why a job that could run does not, so that such
/// a job takes two calls.
#[derive(Clone, Copy, Default)]
enum Asks {
    #[default]
    Job,
    Why,
}

/// A job as it was last read.
#[derive(Clone)]
pub(in crate::ui) struct WatchedJob {
    /// Without its payload, which never changes; none if it is gone.
    pub(in crate::ui) job: Option<Job>,
    /// Why it has its status, once that is known.
    pub(in crate::ui) why: Option<Why>,
    /// When it was read, by the clock of this server.
    pub(in crate::ui) at: Timestamp,
}

/// Has a job read as long as its page is open.
pub(in crate::ui) struct Watching {
    id: JobId,
    watched: Arc<Watched>,
}

impl Watched {
    pub(super) fn watch(self: &Arc<Self>, id: JobId) -> Watching {
        self.lock().entry(id).or_default().viewers += 1;
        Watching { id, watched: Arc::clone(self) }
    }

    /// Reads the job that was not read for the longest time, with one call of the store. False if
    /// there is none to read.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn read_next(&self, app: &App, figures: &Figures) -> queuekit::Result<bool> {
        let Some((id, asks)) = self.next() else { return Ok(false) };
        let admin = app.store().capabilities().admin;
        if let (Asks::Why, Some(admin)) = (asks, admin) {
            let why = admin.why(id).await?;
            self.update(id, |entry| {
                entry.asks = Asks::Job;
                let latest = entry.latest.as_ref().filter(|_| why.as_ref().is_some_and(of_waiting));
                let told = latest.map(|latest| WatchedJob { why, ..WatchedJob::clone(latest) });
                entry.latest = told.map(Arc::new).or(entry.latest.take());
            });
            return Ok(true);
        }
        let (found, at) = (app.client().jobs().get(id).await?, app.now());
        self.update(id, |entry| {
            let before = entry.latest.take();
            let latest = WatchedJob::of(found, figures, at);
            let asks_why = latest.job.as_ref().is_some_and(|job| waits(job.status));
            entry.asks = if asks_why && admin.is_some() { Asks::Why } else { Asks::Job };
            entry.latest = Some(Arc::new(latest.with_why_of(before.as_deref())));
        });
        Ok(true)
    }

    fn next(&self) -> Option<(JobId, Asks)> {
        let mut jobs = self.lock();
        let (id, entry) = jobs.iter_mut().min_by_key(|(_, entry)| entry.read)?;
        entry.read = Some(Instant::now());
        Some((*id, entry.asks))
    }

    /// Changes an entry, unless nobody has the page open any more.
    fn update(&self, id: JobId, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.lock().get_mut(&id) {
            change(entry);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watching {
    /// The job as it was last read; none if it was not read yet.
    pub(in crate::ui) fn latest(&self) -> Option<Arc<WatchedJob>> {
        self.watched.lock().get(&self.id).and_then(|entry| entry.latest.clone())
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut jobs = self.watched.lock();
        if let Some(entry) = jobs.get_mut(&self.id) {
            entry.viewers -= 1;
            if entry.viewers == 0 {
                jobs.remove(&self.id);
            }
        }
    }
}

impl WatchedJob {
    fn of(found: Option<Job>, figures: &Figures, at: Timestamp) -> Self {
        let Some(mut job) = found else {
            return Self { job: None, why: None, at };
        };
        let why = (!waits(job.status)).then(|| why(&job, figures, at));
        job.payload = Bytes::new();
        Self { job: Some(job), why, at }
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
    let serves = |beat: &queuekit::workers::Beat| beat.serves(&job.queue, &job.kind);
    Why::of(WhyFacts {
        job,
        now: queue.map_or(at, |queue| queue.as_of),
        overdue: std::time::Duration::ZERO,
        paused: queue.is_some_and(|queue| queue.settings.paused),
        has_live_worker: figures.workers.iter().any(|worker| serves(&worker.beat)),
    })
}
