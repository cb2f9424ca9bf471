//! The steps of one run.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use queuekit_core::{Bytes, CheckpointName, Checkpoints};
use tokio::sync::OnceCell;

/// The steps of a run whose handler has asked for one.
#[derive(Default)]
pub(crate) struct Steps {
    /// Those of earlier runs, and when they were read.
    pub(super) earlier: OnceCell<(Checkpoints, Instant)>,
    own: Mutex<HashMap<CheckpointName, Step>>,
}

enum Step {
    Running,
    Stored(Bytes),
}

impl Steps {
    /// Notes that the step runs; its result if this run has done it already, and `None` if it runs
    /// already.
    pub(super) fn begin(&self, name: &CheckpointName) -> Option<Begun<'_>> {
        match self.own().entry(name.clone()) {
            Entry::Vacant(place) => {
                place.insert(Step::Running);
                Some(Begun::Now(BegunStep { steps: self, name: name.clone() }))
            }
            Entry::Occupied(place) => match place.get() {
                Step::Stored(result) => Some(Begun::Done(result.clone())),
                Step::Running => None,
            },
        }
    }

    fn own(&self) -> MutexGuard<'_, HashMap<CheckpointName, Step>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) enum Begun<'r> {
    Done(Bytes),
    Now(BegunStep<'r>),
}

/// A step of this run. If it is dropped before it is stored, it can begin again.
pub(super) struct BegunStep<'r> {
    steps: &'r Steps,
    name: CheckpointName,
}

impl BegunStep<'_> {
    pub(super) fn store(self, result: &Bytes) {
        self.steps.own().insert(self.name.clone(), Step::Stored(result.clone()));
    }
}

impl Drop for BegunStep<'_> {
    fn drop(&mut self) {
        let mut own = self.steps.own();
        if matches!(own.get(&self.name), Some(Step::Running)) {
            own.remove(&self.name);
        }
    }
}
