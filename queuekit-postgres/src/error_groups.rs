//! Error groups.

use async_trait::async_trait;
use queuekit_core::capability::ErrorGroups;
use queuekit_core::{ErrorGroup, PageSize, QueueName, Result};

use crate::PostgresStore;
use crate::call::Call;
use crate::step;

#[async_trait]
impl ErrorGroups for PostgresStore {
    async fn list_error_groups(
        &self,
        queues: &[QueueName],
        limit: PageSize,
    ) -> Result<Vec<ErrorGroup>> {
        if queues.is_empty() {
            return Ok(Vec::new());
        }
        let input = (queues, self.shared.limits.error_groups(), limit.get());
        let listed = self.call("list_error_groups", Call::Repeatable, input, |input, session| {
            let (queues, kept, limit) = *input;
            Box::pin(step::list_error_groups(session, queues, kept, limit))
        });
        listed.await
    }
}
