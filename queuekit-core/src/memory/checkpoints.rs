//! Checkpoints of jobs (contract R13.10).

use async_trait::async_trait;

use super::tables::Tables;
use super::{MemoryStore, Operation};
use crate::backend::LeaseToken;
use crate::capability::{CheckpointOutcome, KeepCheckpoints, NewCheckpoint};
use crate::error::Result;
use crate::job::{Checkpoint, CheckpointInfo, Checkpoints, JobId};

#[async_trait]
impl KeepCheckpoints for MemoryStore {
    async fn put_checkpoint(&self, checkpoint: &NewCheckpoint) -> Result<CheckpointOutcome> {
        self.step(Operation::PutCheckpoint, |tables| Ok(tables.put_checkpoint(checkpoint)))
    }

    async fn checkpoints(&self, lease: &LeaseToken) -> Result<Option<Checkpoints>> {
        self.step(Operation::Checkpoints, |tables| {
            let record = tables.jobs.get(&lease.id).filter(|record| record.is_held_by(lease));
            let stored = record.map(|record| record.checkpoints.clone());
            Ok(stored.map(|stored| Checkpoints { now: tables.now, stored }))
        })
    }

    async fn list_checkpoints(&self, id: JobId) -> Result<Vec<CheckpointInfo>> {
        self.step(Operation::ListCheckpoints, |tables| {
            let stored = tables.jobs.get(&id).map(|record| &*record.checkpoints);
            Ok(stored.unwrap_or_default().iter().map(CheckpointInfo::of).collect())
        })
    }

    async fn forget_checkpoints(&self, ids: &[JobId]) -> Result<Vec<bool>> {
        self.step(Operation::ForgetCheckpoints, |tables| {
            Ok(ids.iter().map(|id| tables.forget_checkpoints(*id)).collect())
        })
    }
}

impl Tables {
    fn put_checkpoint(&mut self, checkpoint: &NewCheckpoint) -> CheckpointOutcome {
        let Some(record) = self.jobs.get_mut(&checkpoint.lease().id) else {
            return CheckpointOutcome::NotFound;
        };
        if !record.is_held_by(checkpoint.lease()) {
            return CheckpointOutcome::LeaseLost;
        }
        record.put_checkpoint(checkpoint, self.now)
    }

    /// What is stored under the name is a conflict, whatever it is.
    pub(super) fn put_new_checkpoint(&mut self, checkpoint: &NewCheckpoint) -> CheckpointOutcome {
        let lease = checkpoint.lease();
        let record = self.jobs.get(&lease.id).filter(|record| record.is_held_by(lease));
        let is_of_name = |stored: &Checkpoint| stored.name == *checkpoint.name();
        match record.is_some_and(|record| record.checkpoints.iter().any(is_of_name)) {
            true => CheckpointOutcome::Conflict,
            false => self.put_checkpoint(checkpoint),
        }
    }

    fn forget_checkpoints(&mut self, id: JobId) -> bool {
        self.jobs.get_mut(&id).is_some_and(|record| record.forget_checkpoints())
    }
}
