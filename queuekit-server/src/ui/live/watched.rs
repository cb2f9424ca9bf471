//! What pages that are open need besides figures: a job, errors, events. A call to the store reads
//! one of them, however many pages show it. Viewers take turns, and so do the pages of a viewer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::new_events::NewEvents;
use super::watched_job::WatchedJob;
use crate::api::{App, Figures};
use queuekit::error_groups::ErrorGroup;
use queuekit::jobs::PageSize;
use queuekit::{JobId, QueueName};

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
pub(in crate::ui) struct Watched(Mutex<Open>);

#[derive(Default)]
struct Open {
    subjects: HashMap<Subject, Entry>,
    /// By the id of the caller.
    viewers: HashMap<String, Viewer>,
    /// Counts what is read.
    reads: u64,
}

#[derive(Default)]
struct Entry {
    /// How many of their pages each viewer has open.
    pages: HashMap<String, usize>,
    /// The number of its last read, done or tried; 0 if there was none.
    read: u64,
    latest: Latest,
}

#[derive(Default)]
struct Viewer {
    pages: usize,
    /// The number of the last read that was for this viewer.
    read: u64,
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
    viewer: String,
    watched: Arc<Watched>,
}

impl Watched {
    /// Has a subject read for this viewer.
    pub(super) fn watch(self: &Arc<Self>, subject: Subject, viewer: &str) -> Watching {
        let mut open = self.lock();
        let pages = &mut open.subjects.entry(subject.clone()).or_default().pages;
        *pages.entry(viewer.to_owned()).or_default() += 1;
        open.viewers.entry(viewer.to_owned()).or_default().pages += 1;
        Watching { subject, viewer: viewer.to_owned(), watched: Arc::clone(self) }
    }

    /// Reads the next subject, with one call of the store. False if there is none to read.
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
        if let Some(entry) = self.lock().subjects.get_mut(&subject) {
            entry.latest = read;
        }
        Ok(true)
    }

    /// The viewer for whom nothing was read for longest comes next, with the subject that was read
    /// longest ago.
    fn next(&self) -> Option<(Subject, Latest)> {
        let Open { subjects, viewers, reads } = &mut *self.lock();
        *reads += 1;
        // Guard: one viewer's pages, however many, make those of another wait for one read each.
        let (id, viewer) = viewers.iter_mut().min_by_key(|(_, viewer)| viewer.read)?;
        viewer.read = *reads;
        let own = subjects.iter_mut().filter(|(_, entry)| entry.pages.contains_key(id));
        let (subject, entry) = own.min_by_key(|(_, entry)| entry.read)?;
        entry.read = *reads;
        Some((subject.clone(), entry.latest.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
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
        let open = self.watched.lock();
        open.subjects.get(&self.subject).map(|entry| entry.latest.clone()).unwrap_or_default()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let Open { subjects, viewers, .. } = &mut *self.watched.lock();
        if let Some(entry) = subjects.get_mut(&self.subject) {
            if let Some(pages) = entry.pages.get_mut(&self.viewer) {
                *pages -= 1;
            }
            entry.pages.retain(|_, pages| *pages > 0);
            if entry.pages.is_empty() {
                subjects.remove(&self.subject);
            }
        }
        if let Some(viewer) = viewers.get_mut(&self.viewer) {
            viewer.pages -= 1;
            if viewer.pages == 0 {
                viewers.remove(&self.viewer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guard: sixteen pages of one key made those of another wait for a minute.
    #[test]
    fn s6_many_pages_of_one_viewer_do_not_delay_those_of_another() {
        let watched = Arc::new(Watched::default());
        let many: Vec<_> = (0..16).map(|n| watched.watch(Subject::Events(n), "hostile")).collect();
        let shared = watched.watch(Subject::Events(0), "k");
        let own = watched.watch(Subject::Events(99), "k");
        let read: Vec<Subject> = (0..32).map(|_| watched.next().unwrap().0).collect();
        let reads_of = |of: &Subject| read.iter().filter(|subject| *subject == of).count();
        assert!(reads_of(&own.subject) >= 8, "{read:?}");
        assert!(many.iter().all(|page| reads_of(&page.subject) > 0), "{read:?}");
        drop((many, own));
        assert_eq!(watched.next().unwrap().0, shared.subject);
        drop(shared);
        assert!(watched.next().is_none());
        assert!(watched.lock().viewers.is_empty() && watched.lock().subjects.is_empty());
    }
}
