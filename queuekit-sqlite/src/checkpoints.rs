//! Results of steps of jobs.

use async_trait::async_trait;
use queuekit_core::capability::{CheckpointOutcome, KeepCheckpoints, NewCheckpoint};
use queuekit_core::{CheckpointInfo, Checkpoints, JobId, LeaseToken, Result};

use crate::SqliteStore;

#[async_trait]
impl KeepCheckpoints for SqliteStore {
    async fn put_checkpoint(&self, checkpoint: &NewCheckpoint) -> Result<CheckpointOutcome> {
        let new = checkpoint.clone();
        self.write("put_checkpoint", move |step| step.put_checkpoint(&new)).await
    }

    async fn checkpoints(&self, lease: &LeaseToken) -> Result<Option<Checkpoints>> {
        let lease = lease.clone();
        self.read("checkpoints", move |step| step.checkpoints(&lease)).await
    }

    async fn list_checkpoints(&self, id: JobId) -> Result<Vec<CheckpointInfo>> {
        self.read("list_checkpoints", move |step| step.list_checkpoints(id)).await
    }

    async fn forget_checkpoints(&self, ids: &[JobId]) -> Result<Vec<bool>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ids = ids.to_vec();
        self.write("forget_checkpoints", move |step| step.forget_checkpoints(&ids)).await
    }
}
