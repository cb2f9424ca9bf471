//! Jobs that have ended, as a store finds them.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::error::Result;
use crate::job::{Job, JobId, State};
use crate::names::QueueName;

/// How [`recent`](super::recent) reads jobs that have ended. A store decides nothing here: it need
/// not know filters, pages or cursors.
#[async_trait]
pub trait EndedJobs: Sync {
    /// Up to this many queues, by name.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn queues(&self, most: usize) -> Result<Vec<QueueName>>;

    /// Of each of these at most `most` ends, the newest first. All are read in few steps, however
    /// many they are.
    ///
    /// # Errors
    /// As [`queues`](Self::queues).
    async fn ends(&self, of: &[EndsBefore], most: usize) -> Result<Vec<Vec<End>>>;

    /// The jobs of these ends as they are now, none for one that is not stored: as many of the
    /// first as an [answer](crate::backend::AnswerBytes) has room for, and at least one.
    ///
    /// # Errors
    /// As [`queues`](Self::queues).
    async fn jobs(&self, ended: &[Ended]) -> Result<Vec<Option<Job>>>;
}

/// The ends of a queue in one state that are before a place.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the type says it")]
pub struct EndsBefore {
    pub queue: QueueName,
    /// Dead, cancelled or completed.
    pub state: State,
    /// Need not be the end of a job.
    pub before: End,
}

/// The place of an end among those of its queue and state. The newest is the greatest.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct End {
    /// When it was.
    pub at: Timestamp,
    /// The order of what ended in the same millisecond, as the store has it.
    pub seq: i64,
    /// The order of what has the same of both.
    pub id: JobId,
}

impl End {
    /// Before all that ended at this time, and after all that ended earlier.
    pub(super) fn first_at(at: Timestamp) -> Self {
        Self { at, seq: i64::MIN, id: JobId::from_bytes([0; 16]) }
    }
}

/// An end, and where it is.
// Exhaustive: a queue, a state, and a place there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the type says it")]
pub struct Ended {
    pub queue: QueueName,
    pub state: State,
    pub end: End,
}

impl Ended {
    /// Whether this is how the job has ended, or it has changed since.
    pub(super) fn is_of(&self, job: &Job) -> bool {
        let Self { queue, state, end } = self;
        job.queue == *queue && job.state == *state && job.finished_at == Some(end.at)
    }
}
