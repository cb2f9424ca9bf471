//! The queues as last seen.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use queuekit_core::{JobId, QueueName};

/// After this long a queue that is used is entered again. This repairs an entry that was lost when
/// a queue was removed and created again at once.
const TRUSTED: Duration = Duration::from_secs(5);

/// For this long jobs are not enqueued in the short form after a queue has refused it.
const SETTINGS_TRUSTED: Duration = Duration::from_secs(5);

/// After this long a call by id reads the names of all queues again, because another process may
/// have created a queue that has the job.
const ALL_TRUSTED: Duration = Duration::from_secs(1);

/// The queues as last seen. This saves a look-up and is never trusted: the script that stores jobs
/// in a queue checks that it exists.
#[derive(Debug, Default)]
pub(crate) struct Known {
    names: Mutex<HashMap<QueueName, Seen>>,
    /// When the names of all queues were read.
    learnt_all: Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct Seen {
    entered: Option<Instant>,
    /// When it had settings that the short form of an enqueue does not apply.
    not_plain: Option<Instant>,
}

impl Known {
    pub(crate) fn learn(&self, names: &[QueueName], entered: Option<Instant>) {
        let mut known = self.names();
        for name in names {
            let seen = known.entry(name.clone()).or_default();
            seen.entered = entered.or(seen.entered);
        }
    }

    pub(crate) fn were_entered(&self, names: &[QueueName]) -> bool {
        let known = self.names();
        names.iter().all(|name| known.get(name).is_some_and(|seen| seen.entered.is_some()))
    }

    /// A queue has settings that the short form of an enqueue does not apply.
    pub(crate) fn learn_not_plain(&self, name: &QueueName) {
        if let Some(seen) = self.names().get_mut(name) {
            seen.not_plain = Some(Instant::now());
        }
    }

    /// Whether the short form of an enqueue is worth a try. The script that it runs decides.
    pub(crate) fn may_be_plain(&self, name: &QueueName) -> bool {
        let not_plain = self.names().get(name).and_then(|seen| seen.not_plain);
        not_plain.is_none_or(|at| at.elapsed() >= SETTINGS_TRUSTED)
    }

    /// Whether the names of all queues were read lately.
    pub(crate) fn has_all(&self) -> bool {
        let at = *self.learnt_all.lock().unwrap_or_else(PoisonError::into_inner);
        at.is_some_and(|at| at.elapsed() < ALL_TRUSTED)
    }

    /// The names of all queues as of then are known.
    pub(crate) fn learnt_all(&self, at: Instant) {
        *self.learnt_all.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
    }

    pub(crate) fn forget(&self, name: &QueueName) {
        self.names().remove(name);
    }

    /// The queues that were not entered lately.
    pub(crate) fn stale<'a>(&self, names: &[&'a QueueName]) -> Vec<&'a QueueName> {
        let known = self.names();
        let is_fresh = |name: &QueueName| {
            let entered = known.get(name).and_then(|seen| seen.entered);
            entered.is_some_and(|at| at.elapsed() < TRUSTED)
        };
        names.iter().filter(|name| !is_fresh(name)).copied().collect()
    }

    /// The queues that may have a job with this id.
    pub(crate) fn of_job(&self, id: JobId) -> Vec<QueueName> {
        self.names().keys().filter(|name| id.belongs_to(name)).cloned().collect()
    }

    fn names(&self) -> MutexGuard<'_, HashMap<QueueName, Seen>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
