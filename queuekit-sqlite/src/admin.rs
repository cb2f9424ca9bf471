//! Operations of an operator.

use std::time::Duration;

use async_trait::async_trait;
use queuekit_core::capability::{Admin, CancelOutcome, RescheduleOutcome, RetryOutcome, Why};
use queuekit_core::queue::{QueuePatch, QueueSettings};
use queuekit_core::{JobId, QueueName, Result};

use crate::SqliteStore;
use crate::error::in_part;
use crate::step::Step;

#[async_trait]
impl Admin for SqliteStore {
    /// If the order or the rules of partition keys change, looks at each job that waits and each
    /// key once, in steps of 1,000.
    async fn configure(&self, queue: &QueueName, patch: &QueuePatch) -> Result<QueueSettings> {
        let (name, patch) = (queue.clone(), patch.clone());
        let configure = move |step: &mut Step<'_>| step.configure(&name, &patch);
        let (settings, mut moves) = self.write("configure", configure).await?;
        while moves {
            let name = queue.clone();
            let step = self.write("configure", move |step| step.move_queue(&name));
            // The next reserve from the queue, or change of its settings, continues.
            moves = step.await.map_err(in_part)?;
        }
        Ok(settings)
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
