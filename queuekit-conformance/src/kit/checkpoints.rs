//! Checkpoints of jobs.

use queuekit_core::capability::{CheckpointOutcome, KeepCheckpoints, NewCheckpoint};
use queuekit_core::{Bytes, CheckpointInfo, CheckpointName, Checkpoints, JobId, Lease, LeaseToken};

use crate::World;

/// The name of a checkpoint.
pub fn checkpoint_name(name: &str) -> CheckpointName {
    CheckpointName::new(name).expect("a checkpoint's name")
}

impl<'w> dyn World + 'w {
    /// The capability.
    pub fn keeps_checkpoints(&self) -> &dyn KeepCheckpoints {
        self.backend().capabilities().checkpoints.expect("checkpoints of jobs")
    }

    /// Stores a checkpoint with a token.
    pub async fn put_as(
        &self,
        token: &LeaseToken,
        name: &str,
        result: impl Into<Bytes>,
    ) -> CheckpointOutcome {
        let new = NewCheckpoint::new(token.clone(), checkpoint_name(name), result);
        let new = new.expect("a result of at most 64 KiB");
        self.keeps_checkpoints().put_checkpoint(&new).await.expect("put_checkpoint")
    }

    /// Stores a checkpoint that the job has room for.
    pub async fn put(&self, lease: &Lease, name: &str, result: impl Into<Bytes>) {
        assert_eq!(self.put_as(&lease.token, name, result).await, CheckpointOutcome::Stored);
    }

    /// What the holder of this token reads.
    pub async fn checkpoints_of(&self, token: &LeaseToken) -> Option<Checkpoints> {
        self.keeps_checkpoints().checkpoints(token).await.expect("checkpoints")
    }

    /// The names and results of the checkpoints of a leased job, in their order.
    pub async fn checkpoints(&self, lease: &Lease) -> Vec<(String, Bytes)> {
        let read = self.checkpoints_of(&lease.token).await.expect("the lease holds");
        let pair = |stored: &queuekit_core::Checkpoint| {
            (stored.name.as_str().to_owned(), stored.result.clone())
        };
        read.stored.iter().map(pair).collect()
    }

    /// What an operator sees of the checkpoints of a job.
    pub async fn list_checkpoints(&self, id: JobId) -> Vec<CheckpointInfo> {
        self.keeps_checkpoints().list_checkpoints(id).await.expect("list_checkpoints")
    }

    /// An operator forgets the checkpoints of one job; whether it had any.
    pub async fn forget_checkpoints(&self, id: JobId) -> bool {
        let forgotten = self.keeps_checkpoints().forget_checkpoints(&[id]).await;
        let forgotten = forgotten.expect("forget_checkpoints");
        assert_eq!(forgotten.len(), 1, "an answer per job");
        forgotten[0]
    }
}
