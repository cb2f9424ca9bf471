//! Results of steps of a job that later runs of it need not do again.

use bytes::Bytes;

use crate::clock::Timestamp;
use crate::names::CheckpointName;

/// The stored result of one step of a job (contract R13.10).
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Unique among those of the job.
    pub name: CheckpointName,
    /// Store time at which it was stored.
    pub at: Timestamp,
    /// What the step returned, byte for byte as it was stored.
    pub result: Bytes,
}

/// A checkpoint as an operator sees it: without its result, which only runs of the job read.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointInfo {
    /// Unique among those of the job.
    pub name: CheckpointName,
    /// Store time at which it was stored.
    pub at: Timestamp,
    /// Bytes of its result.
    pub bytes: usize,
}

impl CheckpointInfo {
    pub(crate) fn of(checkpoint: &Checkpoint) -> Self {
        let Checkpoint { name, at, result } = checkpoint;
        Self { name: name.clone(), at: *at, bytes: result.len() }
    }
}

/// The checkpoints of a job, as the holder of its lease reads them.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoints {
    /// Store time of the read.
    pub now: Timestamp,
    /// All that the job has, in the order in which they were stored.
    pub stored: Vec<Checkpoint>,
}
