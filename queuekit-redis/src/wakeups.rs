//! Hints that there may be work: at once from this process, by a marker from others.

use queuekit_core::capability::{Wakeup, Wakeups};
use queuekit_core::{QueueName, Result};

use crate::RedisStore;

impl Wakeups for RedisStore {
    fn subscribe(&self, queues: &[QueueName]) -> Result<Wakeup> {
        self.shared.check_open().map_err(|error| error.during("subscribe"))?;
        let wakeup = self.shared.wakeups.subscribe(queues);
        self.shared.marker.watch(&self.shared, queues);
        Ok(wakeup)
    }
}

impl RedisStore {
    /// Queues gained work: whoever waits for it here is told. Others find the marker that the
    /// script has set.
    pub(crate) fn stir<'a>(&self, queues: impl Iterator<Item = &'a QueueName>) {
        queues.for_each(|queue| self.shared.wakeups.ring(queue));
    }
}
