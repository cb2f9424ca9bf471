//! Orders to workers.

use async_trait::async_trait;
use queuekit_core::capability::{Control, WorkerOrder, admit_ordered};
use queuekit_core::{Result, WorkerId};

use crate::PostgresStore;
use crate::call::Call;
use crate::step;

#[async_trait]
impl Control for PostgresStore {
    async fn control(&self, workers: &[WorkerId], order: WorkerOrder) -> Result<Vec<bool>> {
        admit_ordered(workers).map_err(|error| error.during("control"))?;
        if workers.is_empty() {
            return Ok(Vec::new());
        }
        let given = self.call("control", Call::Once, (workers, order), |input, session| {
            let (workers, order) = *input;
            Box::pin(step::control(session, workers, order))
        });
        given.await
    }
}
