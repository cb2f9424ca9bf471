//! Hints that there may be work, or that a run was asked to stop: at once from this process, by a
//! marker or a message from others.

use queuekit_core::capability::{RestGuard, Wakeup, Wakeups};
use queuekit_core::{QueueName, Result};

use crate::RedisStore;

impl Wakeups for RedisStore {
    fn subscribe(&self, queues: &[QueueName]) -> Result<Wakeup> {
        self.shared.check_open().map_err(|error| error.during("subscribe"))?;
        let wakeup = self.shared.wakeups.subscribe(queues);
        self.shared.marker.watch(&self.shared, queues);
        Ok(wakeup)
    }

    fn subscribe_cancels(&self, queues: &[QueueName]) -> Result<Wakeup> {
        self.shared.check_open().map_err(|error| error.during("subscribe_cancels"))?;
        let wakeup = self.shared.wakeups.subscribe_cancels(queues);
        self.shared.cancels.listen(&self.shared);
        Ok(wakeup)
    }

    fn are_heard(&self, queues: &[QueueName]) -> bool {
        self.shared.marker.sees(queues)
    }

    fn rest(&self) -> Option<RestGuard> {
        Some(self.shared.resting.begin())
    }
}

impl RedisStore {
    /// Wakes those who wait for work in these queues in this process. Other processes find the
    /// marker that the script has set.
    pub(crate) fn stir<'a>(&self, queues: impl Iterator<Item = &'a QueueName>) {
        queues.for_each(|queue| self.shared.wakeups.ring(queue));
    }
}
