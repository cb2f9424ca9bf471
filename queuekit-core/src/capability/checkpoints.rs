//! Keeping the results of the steps of a job.

use std::fmt::Debug;

use async_trait::async_trait;
use bytes::Bytes;

use crate::backend::LeaseToken;
use crate::error::{Error, Result};
use crate::job::{CheckpointInfo, Checkpoints, JobId};
use crate::limits::CHECKPOINT_BYTES;
use crate::names::CheckpointName;

/// Keeps the results of steps, so that a later run of the job need not do them again (contract
/// R13.10). They outlive retries, releases and expiries, and are removed with the job.
#[async_trait]
pub trait KeepCheckpoints: Debug + Send + Sync {
    /// Stores the result of one step, if the lease still holds.
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`.
    async fn put_checkpoint(&self, checkpoint: &NewCheckpoint) -> Result<CheckpointOutcome>;

    /// All checkpoints of the job, at most 1 MiB in all; `None` if the lease no longer holds.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn checkpoints(&self, lease: &LeaseToken) -> Result<Option<Checkpoints>>;

    /// All checkpoints of the job in the order in which they were stored, without their results;
    /// none if it is not stored.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn list_checkpoints(&self, id: JobId) -> Result<Vec<CheckpointInfo>>;

    /// Removes the checkpoints of each job that is not running. Returns, for each, whether it had
    /// any.
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`.
    async fn forget_checkpoints(&self, ids: &[JobId]) -> Result<Vec<bool>>;
}

/// The result of a step, to be stored.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCheckpoint {
    lease: LeaseToken,
    name: CheckpointName,
    result: Bytes,
}

impl NewCheckpoint {
    /// A checkpoint of the run under this lease.
    ///
    /// # Errors
    /// `Invalid` if the result has more than 64 KiB.
    pub fn new(lease: LeaseToken, name: CheckpointName, result: impl Into<Bytes>) -> Result<Self> {
        let result = result.into();
        if result.len() > CHECKPOINT_BYTES {
            let (most, got) = (CHECKPOINT_BYTES / 1024, result.len());
            let (limit, got) = (format!("at most {most} KiB"), format!("{got} bytes"));
            return Err(Error::invalid("checkpoint result", limit, got).on(lease.id));
        }
        Ok(Self { lease, name, result })
    }

    /// The lease under which it is stored.
    pub fn lease(&self) -> &LeaseToken {
        &self.lease
    }

    /// Its name.
    pub fn name(&self) -> &CheckpointName {
        &self.name
    }

    /// What the step returned.
    pub fn result(&self) -> &Bytes {
        &self.result
    }
}

/// The outcome for one checkpoint.
// Exhaustive: code that passes outcomes on, such as a worker or a server, must handle each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum CheckpointOutcome {
    /// It is stored, by this call or by one before it with the same result.
    Stored,
    /// Another result is stored under its name; nothing changed.
    Conflict,
    /// The job has 64 checkpoints, or they would have more than 1 MiB; nothing changed.
    Full,
    /// The lease no longer holds; nothing changed.
    LeaseLost,
    /// No such job; nothing changed.
    NotFound,
}
