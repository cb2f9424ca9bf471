//! Hints that there may be work, or that a run was asked to stop: at once from this process, by
//! notification from others.

use std::collections::BTreeSet;

use queuekit_core::capability::{RestGuard, Wakeup, Wakeups};
use queuekit_core::{QueueName, Result};

use crate::PostgresStore;
use crate::notifications::Notice;

impl Wakeups for PostgresStore {
    fn subscribe(&self, queues: &[QueueName]) -> Result<Wakeup> {
        self.shared.check_open().map_err(|error| error.during("subscribe"))?;
        Ok(self.shared.wakeups.subscribe(queues))
    }

    fn subscribe_cancels(&self, queues: &[QueueName]) -> Result<Wakeup> {
        self.shared.check_open().map_err(|error| error.during("subscribe_cancels"))?;
        Ok(self.shared.wakeups.subscribe_cancels(queues))
    }

    fn are_heard(&self, _: &[QueueName]) -> bool {
        self.shared.notices.are_heard()
    }

    fn rest(&self) -> Option<RestGuard> {
        Some(self.shared.notices.rest())
    }
}

impl PostgresStore {
    /// Wakes those who wait for work in these queues, in this process and in others.
    pub(crate) fn stir<'a>(&self, queues: impl Iterator<Item = &'a QueueName>) {
        let mut last = None;
        for queue in queues {
            if last != Some(queue) {
                self.shared.wakeups.ring(queue);
                self.shared.notices.tell(Notice::Work(queue.clone()));
                last = Some(queue);
            }
        }
    }

    /// Wakes the workers of running jobs in these queues that were asked to stop.
    pub(crate) fn tell_cancels(&self, queues: BTreeSet<QueueName>) {
        for queue in queues {
            self.shared.wakeups.ring_cancel(&queue);
            self.shared.notices.tell(Notice::Cancel(queue));
        }
    }
}
