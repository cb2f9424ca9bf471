//! Error groups.

use async_trait::async_trait;
use queuekit_core::capability::ErrorGroups;
use queuekit_core::{ErrorGroup, PageSize, QueueName, Result};

use crate::SqliteStore;

#[async_trait]
impl ErrorGroups for SqliteStore {
    async fn list_error_groups(
        &self,
        queues: &[QueueName],
        limit: PageSize,
    ) -> Result<Vec<ErrorGroup>> {
        if queues.is_empty() {
            return Ok(Vec::new());
        }
        let queues = queues.to_vec();
        self.read("list_error_groups", move |step| step.list_error_groups(&queues, limit.get()))
            .await
    }
}
