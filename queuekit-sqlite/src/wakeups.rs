//! Hints that there may be work: at once from this process, within 20 ms from another. Hints that a
//! run was asked to stop come from this process only.

use std::sync::atomic::Ordering;

use queuekit_core::capability::{Wakeup, Wakeups};
use queuekit_core::{QueueName, Result};

use crate::SqliteStore;

impl Wakeups for SqliteStore {
    fn subscribe(&self, queues: &[QueueName]) -> Result<Wakeup> {
        self.check_open().map_err(|error| error.during("subscribe"))?;
        let wakeup = self.shared.wakeups.subscribe(queues);
        if !self.shared.writer.watched.swap(true, Ordering::Relaxed) {
            self.shared.writer.wake();
        }
        Ok(wakeup)
    }

    fn subscribe_cancels(&self, queues: &[QueueName]) -> Result<Wakeup> {
        self.check_open().map_err(|error| error.during("subscribe_cancels"))?;
        Ok(self.shared.wakeups.subscribe_cancels(queues))
    }
}
