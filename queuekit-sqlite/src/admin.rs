//! Operations of an operator.

use std::time::Duration;

use async_trait::async_trait;
use queuekit_core::capability::{Admin, CancelOutcome, RescheduleOutcome, RetryOutcome, Why};
use queuekit_core::queue::{QueuePatch, QueueSettings};
use queuekit_core::{JobId, QueueName, Result};

use crate::SqliteStore;

#[async_trait]
impl Admin for SqliteStore {
    /// Looks at each waiting key of the queue once if the order or the rules of partition keys
    /// change.
    async fn configure(&self, queue: &QueueName, patch: &QueuePatch) -> Result<QueueSettings> {
        let (queue, patch) = (queue.clone(), patch.clone());
        self.write("configure", move |step| step.configure(&queue, &patch)).await
    }

    /// Removes the jobs of a large queue in several steps of 1,000.
    async fn remove_queue(&self, queue: &QueueName, force: bool) -> Result<bool> {
        loop {
            let name = queue.clone();
            let step = self.write("remove_queue", move |step| step.remove_queue(&name, force));
            match step.await? {
                Some(false) => {}
                gone => return Ok(gone.is_some()),
            }
        }
    }

    async fn cancel(&self, ids: &[JobId]) -> Result<Vec<CancelOutcome>> {
        let ids = ids.to_vec();
        self.write("cancel", move |step| step.cancel(&ids)).await
    }

    async fn retry_after(&self, retries: &[(JobId, Duration)]) -> Result<Vec<RetryOutcome>> {
        let retries = retries.to_vec();
        self.write("retry", move |step| step.retry(&retries)).await
    }

    async fn reschedule(&self, ids: &[JobId], delay: Duration) -> Result<Vec<RescheduleOutcome>> {
        let ids = ids.to_vec();
        self.write("reschedule", move |step| step.reschedule(&ids, delay)).await
    }

    async fn why(&self, id: JobId) -> Result<Option<Why>> {
        self.read("why", move |step| step.why(id)).await
    }
}
