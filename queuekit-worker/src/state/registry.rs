//! The runs of this worker: which hold a slot, and which hold a lease.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::run::run::Run;

/// Every run whose handler has not returned or whose outcome is unanswered.
#[derive(Default)]
pub(crate) struct Registry {
    runs: Mutex<Runs>,
    /// Handlers that have not returned.
    busy: AtomicUsize,
}

/// A slab: places are reused, so that neither side of a batch searches.
#[derive(Default)]
pub(crate) struct Runs {
    entries: Vec<Option<Entry>>,
    vacant: Vec<usize>,
}

pub(crate) struct Entry {
    pub(crate) run: Arc<Run>,
    /// The lease certainly holds for its ttl from here.
    pub(crate) held_since: Instant,
    /// When to extend it next.
    pub(crate) extend_at: Instant,
    /// A call that extends it is under way.
    pub(crate) extending: bool,
    /// Its handler has returned: the slot is free.
    pub(crate) returned: bool,
    /// The store has answered its outcome, or never will.
    pub(crate) settled: bool,
}

impl Registry {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many handlers have not returned.
    pub(crate) fn busy(&self) -> usize {
        self.busy.load(Ordering::Acquire)
    }

    /// Adds runs, each of which gets its place.
    pub(crate) fn add<T>(
        &self,
        items: impl IntoIterator<Item = T>,
        extend_at: Instant,
        mut make: impl FnMut(T, usize) -> Arc<Run>,
    ) -> Vec<Arc<Run>> {
        let mut runs = self.lock();
        let added: Vec<_> = items
            .into_iter()
            .map(|item| {
                let slot = runs.vacancy();
                let run = make(item, slot);
                runs.entries[slot] = Some(Entry {
                    run: Arc::clone(&run),
                    held_since: run.asked_at,
                    extend_at,
                    extending: false,
                    returned: false,
                    settled: false,
                });
                run
            })
            .collect();
        // Still under the lock, so that no handler is taken off before it is counted.
        self.busy.fetch_add(added.len(), Ordering::AcqRel);
        added
    }

    /// These handlers have returned.
    pub(crate) fn returned<'a>(&self, done: impl IntoIterator<Item = &'a Arc<Run>>) {
        let mut runs = self.lock();
        for run in done {
            if runs.close(run, |entry| !std::mem::replace(&mut entry.returned, true)) {
                self.busy.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    /// The outcomes of these runs are answered, or never will be.
    pub(crate) fn settled<'a>(&self, done: impl IntoIterator<Item = &'a Arc<Run>>) {
        let mut runs = self.lock();
        for run in done {
            runs.close(run, |entry| !std::mem::replace(&mut entry.settled, true));
        }
    }
}

impl Runs {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.entries.iter_mut().flatten()
    }

    /// The entry of this run, unless it is gone.
    pub(crate) fn of(&mut self, run: &Arc<Run>) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(run.slot)?.as_mut()?;
        // The place may have been given to another run since.
        Arc::ptr_eq(&entry.run, run).then_some(entry)
    }

    fn vacancy(&mut self) -> usize {
        self.vacant.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() - 1
        })
    }

    /// Closes one half of an entry, and removes it with the other.
    fn close(&mut self, run: &Arc<Run>, half: impl FnOnce(&mut Entry) -> bool) -> bool {
        let Some(entry) = self.of(run) else {
            return false;
        };
        let closed = half(entry);
        if entry.returned && entry.settled {
            self.entries[run.slot] = None;
            self.vacant.push(run.slot);
        }
        closed
    }
}
