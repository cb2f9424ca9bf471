//! Orders to workers.

use async_trait::async_trait;
use queuekit_core::capability::{Control, WorkerOrder, admit_ordered};
use queuekit_core::{Result, WorkerId};

use crate::SqliteStore;

#[async_trait]
impl Control for SqliteStore {
    async fn control(&self, workers: &[WorkerId], order: WorkerOrder) -> Result<Vec<bool>> {
        admit_ordered(workers).map_err(|error| error.during("control"))?;
        if workers.is_empty() {
            return Ok(Vec::new());
        }
        let workers = workers.to_vec();
        self.write("control", move |step| step.control(&workers, order)).await
    }
}
