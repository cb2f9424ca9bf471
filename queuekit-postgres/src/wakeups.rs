//! Hints that there may be work: at once from this process, by notification from others.

use queuekit_core::capability::{Wakeup, Wakeups};
use queuekit_core::{QueueName, Result};

use crate::PostgresStore;

impl Wakeups for PostgresStore {
    fn subscribe(&self, queues: &[QueueName]) -> Result<Wakeup> {
        self.shared.check_open().map_err(|error| error.during("subscribe"))?;
        Ok(self.shared.wakeups.subscribe(queues))
    }
}

impl PostgresStore {
    /// Queues gained work: whoever waits for it is told, here and elsewhere.
    pub(crate) fn stir<'a>(&self, queues: impl Iterator<Item = &'a QueueName>) {
        let mut last = None;
        for queue in queues {
            if last != Some(queue) {
                self.shared.wakeups.ring(queue);
                self.shared.notices.tell(queue);
                last = Some(queue);
            }
        }
    }
}
