//! What pages that are open need besides figures: a job, errors, events. They are read in turns,
//! one in a call of the store, however many viewers each has.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use queuekit::error_groups::ErrorGroup;
use queuekit::jobs::PageSize;
use queuekit::{JobId, QueueName};
use tokio::time::Instant;

use super::new_events::NewEvents;
use super::watched_job::WatchedJob;
use crate::api::{App, Figures};

/// What is read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::ui) enum Subject {
    Job(JobId),
    /// The latest error groups of these queues, at most this number.
    Errors(Vec<QueueName>, usize),
    /// The events after this place of the log. Each page has its own place, so that one with a
    /// wrong place is wrong for itself alone.
    Events(u64),
}

/// The subjects of all pages that are open.
#[derive(Default)]
pub(in crate::ui) struct Watched(Mutex<HashMap<Subject, Entry>>);

#[derive(Default)]
struct Entry {
    viewers: usize,
    /// When it was last read, or tried to be.
    read: Option<Instant>,
    latest: Latest,
}

/// What was last read of a subject.
#[derive(Clone, Default)]
enum Latest {
    #[default]
    Nothing,
    Job(Arc<WatchedJob>),
    Errors(Arc<[ErrorGroup]>),
    Events(Arc<NewEvents>),
}

/// Has a subject read as long as its page is open.
pub(in crate::ui) struct Watching {
    pub(super) subject: Subject,
    watched: Arc<Watched>,
}

impl Watched {
    pub(super) fn watch(self: &Arc<Self>, subject: Subject) -> Watching {
        self.lock().entry(subject.clone()).or_default().viewers += 1;
        Watching { subject, watched: Arc::clone(self) }
    }

    /// Reads the subject that was not read for the longest time, with one call of the store. False
    /// if there is none to read.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn read_next(&self, app: &App, figures: &Figures) -> queuekit::Result<bool> {
        let Some((subject, before)) = self.next() else { return Ok(false) };
        let read = match (&subject, &before) {
            (Subject::Job(id), before) => {
                let before = match before {
                    Latest::Job(job) => Some(job.as_ref()),
                    _ => None,
                };
                Latest::Job(Arc::new(WatchedJob::after(before, *id, app, figures).await?))
            }
            (Subject::Errors(queues, limit), _) => {
                let Some(errors) = app.store().capabilities().errors else { return Ok(false) };
                let groups = errors.list_error_groups(queues, PageSize::new(*limit)?).await?;
                Latest::Errors(groups.into())
            }
            (Subject::Events(_), Latest::Events(before)) => {
                Latest::Events(Arc::new(before.read_next(app).await?))
            }
            (Subject::Events(after), _) => {
                Latest::Events(Arc::new(NewEvents::after(*after).read_next(app).await?))
            }
        };
        // Perhaps nobody has the page open any more.
        if let Some(entry) = self.lock().get_mut(&subject) {
            entry.latest = read;
        }
        Ok(true)
    }

    fn next(&self) -> Option<(Subject, Latest)> {
        let mut subjects = self.lock();
        let (subject, entry) = subjects.iter_mut().min_by_key(|(_, entry)| entry.read)?;
        entry.read = Some(Instant::now());
        Some((subject.clone(), entry.latest.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Subject, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watching {
    /// The job as it was last read; none if it was not read yet.
    pub(in crate::ui) fn job(&self) -> Option<Arc<WatchedJob>> {
        match self.latest() {
            Latest::Job(job) => Some(job),
            _ => None,
        }
    }

    /// The error groups as they were last read.
    pub(in crate::ui) fn errors(&self) -> Option<Arc<[ErrorGroup]>> {
        match self.latest() {
            Latest::Errors(groups) => Some(groups),
            _ => None,
        }
    }

    /// The events that came while the page was open.
    pub(in crate::ui) fn events(&self) -> Option<Arc<NewEvents>> {
        match self.latest() {
            Latest::Events(events) => Some(events),
            _ => None,
        }
    }

    fn latest(&self) -> Latest {
        self.watched.lock().get(&self.subject).map(|entry| entry.latest.clone()).unwrap_or_default()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut subjects = self.watched.lock();
        if let Some(entry) = subjects.get_mut(&self.subject) {
            entry.viewers -= 1;
            if entry.viewers == 0 {
                subjects.remove(&self.subject);
            }
        }
    }
}
