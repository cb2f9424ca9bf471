//! Ends of jobs, for lists of what is recent (contract R8.7).

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::tables::Tables;
use super::{MemoryStore, Operation};
use crate::backend::{AnswerBytes, End, Ended, EndedJobs, EndsBefore};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::job::{Job, JobId, State};
use crate::names::QueueName;

#[async_trait]
impl EndedJobs for MemoryStore {
    async fn queues(&self, most: usize) -> Result<Vec<QueueName>> {
        self.step(Operation::ListJobs, |tables| {
            Ok(tables.queues.keys().take(most).cloned().collect())
        })
    }

    async fn ends(&self, of: &[EndsBefore], most: usize) -> Result<Vec<Vec<End>>> {
        self.step(Operation::ListJobs, |tables| {
            Ok(of.iter().map(|of| tables.ends(of).take(most).collect()).collect())
        })
    }

    async fn jobs(&self, ended: &[Ended]) -> Result<Vec<Option<Job>>> {
        self.step(Operation::ListJobs, |tables| {
            let mut bytes = AnswerBytes::default();
            let jobs = ended.iter().map(|ended| tables.get_job(ended.end.id));
            Ok(jobs.take_while(|job| bytes.admit(job.as_ref().map_or(0, Job::bytes))).collect())
        })
    }
}

impl Tables {
    /// The newest first.
    fn ends(&self, of: &EndsBefore) -> impl Iterator<Item = End> {
        let queue = self.queues.get(&of.queue);
        let ended: Option<&BTreeMap<(Timestamp, u64), JobId>> =
            queue.and_then(|queue| match of.state {
                State::Dead => Some(&queue.dead),
                State::Cancelled => Some(&queue.cancelled),
                State::Completed => Some(&queue.completed),
                State::Pending | State::Running => None,
            });
        let before = (of.before.at, u64::try_from(of.before.seq).unwrap_or_default());
        let ends = ended.into_iter().flat_map(move |ended| ended.range(..before).rev());
        ends.map(|((at, seq), id)| End {
            at: *at,
            seq: i64::try_from(*seq).unwrap_or(i64::MAX),
            id: *id,
        })
    }
}
