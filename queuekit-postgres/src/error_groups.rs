//! Error groups.

use async_trait::async_trait;
use queuekit_core::capability::ErrorGroups;
use queuekit_core::{ErrorGroup, QueueName, Result};

use crate::PostgresStore;
use crate::call::Call;
use crate::step;

#[async_trait]
impl ErrorGroups for PostgresStore {
    async fn list_error_groups(&self, queues: &[QueueName]) -> Result<Vec<ErrorGroup>> {
        if queues.is_empty() {
            return Ok(Vec::new());
        }
        let input = (queues, self.shared.limits.error_groups());
        let listed = self.call("list_error_groups", Call::Repeatable, input, |input, session| {
            let (queues, most) = *input;
            Box::pin(step::list_error_groups(session, queues, most))
        });
        listed.await
    }
}
