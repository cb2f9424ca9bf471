//! Wake-ups of this process for jobs that end (contract R13.11).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::capability::{Subscribers, Wakeup};
use crate::job::JobId;

/// Rings for jobs that calls of this process may have ended.
#[derive(Debug, Default)]
pub(crate) struct JobEnds {
    /// How many wait: as long as nobody does, a call looks at no more than this.
    waits: AtomicUsize,
    wakeups: Subscribers<JobId>,
}

/// A wait for the end of one job, until it is dropped.
#[derive(Debug)]
pub(crate) struct EndAwaited {
    ends: Arc<JobEnds>,
    wakeup: Wakeup,
}

impl JobEnds {
    /// Register before the first look at the job: it then sees the end, or the end rings.
    pub(crate) fn wait_for(self: &Arc<Self>, id: JobId) -> EndAwaited {
        self.waits.fetch_add(1, Ordering::SeqCst);
        EndAwaited { ends: Arc::clone(self), wakeup: self.wakeups.add(&[id]) }
    }

    /// A call that can end these jobs was answered.
    pub(crate) fn ring(&self, ids: impl IntoIterator<Item = JobId>) {
        if self.waits.load(Ordering::SeqCst) > 0 {
            ids.into_iter().for_each(|id| self.wakeups.ring(&id));
        }
    }
}

impl EndAwaited {
    /// Waits until the job may have ended.
    pub(crate) async fn rung(&self) {
        self.wakeup.rung().await;
    }
}

impl Drop for EndAwaited {
    fn drop(&mut self) {
        self.ends.waits.fetch_sub(1, Ordering::SeqCst);
    }
}
