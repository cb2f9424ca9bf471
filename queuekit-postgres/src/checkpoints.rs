//! Results of steps of jobs.

use async_trait::async_trait;
use queuekit_core::capability::{CheckpointOutcome, KeepCheckpoints, NewCheckpoint};
use queuekit_core::{CheckpointInfo, Checkpoints, JobId, LeaseToken, Result};

use crate::PostgresStore;
use crate::call::Call;
use crate::step;

#[async_trait]
impl KeepCheckpoints for PostgresStore {
    async fn put_checkpoint(&self, checkpoint: &NewCheckpoint) -> Result<CheckpointOutcome> {
        let put = self.call("put_checkpoint", Call::Repeatable, checkpoint, |new, session| {
            Box::pin(step::put_checkpoint(session, new))
        });
        put.await
    }

    async fn checkpoints(&self, lease: &LeaseToken) -> Result<Option<Checkpoints>> {
        let read = self.call("checkpoints", Call::Repeatable, lease, |lease, session| {
            Box::pin(step::checkpoints(session, lease))
        });
        read.await
    }

    async fn list_checkpoints(&self, id: JobId) -> Result<Vec<CheckpointInfo>> {
        let list = self.call("list_checkpoints", Call::Repeatable, &id, |id, session| {
            Box::pin(step::list_checkpoints(session, **id))
        });
        list.await
    }

    async fn forget_checkpoints(&self, ids: &[JobId]) -> Result<Vec<bool>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let forgotten = self.call("forget_checkpoints", Call::Once, ids, |ids, session| {
            Box::pin(step::forget_checkpoints(session, ids))
        });
        forgotten.await
    }
}
