//! Hints that there may be work, or that a run was asked to stop: at once from this process, within
//! 20 ms from another.

use queuekit_core::capability::{Wakeup, Wakeups};
use queuekit_core::{QueueName, Result};

use crate::SqliteStore;

impl Wakeups for SqliteStore {
    fn subscribe(&self, queues: &[QueueName]) -> Result<Wakeup> {
        self.check_open().map_err(|error| error.during("subscribe"))?;
        let wakeup = self.shared.wakeups.subscribe(queues);
        self.shared.writer.watch();
        Ok(wakeup)
    }

    fn subscribe_cancels(&self, queues: &[QueueName]) -> Result<Wakeup> {
        self.check_open().map_err(|error| error.during("subscribe_cancels"))?;
        let wakeup = self.shared.wakeups.subscribe_cancels(queues);
        self.shared.writer.watch();
        Ok(wakeup)
    }
}
