//! Ends of jobs, for lists of what is recent (contract R8.7).

use async_trait::async_trait;
use queuekit_core::backend::{AnswerBytes, End, Ended, EndedJobs, EndsBefore};
use queuekit_core::{Job, JobId, QueueName, Result, State, Timestamp};
use rusqlite::{Row, params};

use crate::SqliteStore;
use crate::column_names::columns;
use crate::row::Reader;
use crate::statements::{RECENT_COMPLETED, RECENT_ENDS};
use crate::step::Step;

columns! {
    struct EndColumns { id, at, seq }
}

#[async_trait]
impl EndedJobs for SqliteStore {
    async fn queues(&self, most: usize) -> Result<Vec<QueueName>> {
        let names = move |step: &mut Step<'_>| {
            let queues = step.queues_from("", true, most)?;
            Ok(queues.into_iter().map(|queue| queue.name).collect())
        };
        self.read("list_jobs", names).await
    }

    async fn ends(&self, of: &[EndsBefore], most: usize) -> Result<Vec<Vec<End>>> {
        let of = of.to_vec();
        let ends = move |step: &mut Step<'_>| of.iter().map(|of| step.ends(of, most)).collect();
        self.read("list_jobs", ends).await
    }

    async fn jobs(&self, ended: &[Ended]) -> Result<Vec<Option<Job>>> {
        let ids: Vec<JobId> = ended.iter().map(|ended| ended.end.id).collect();
        let jobs = move |step: &mut Step<'_>| {
            let (mut jobs, mut bytes) = (Vec::with_capacity(ids.len()), AnswerBytes::default());
            for id in &ids {
                let job = step.get_job(*id)?;
                if !bytes.admit(job.as_ref().map_or(0, Job::bytes)) {
                    break;
                }
                jobs.push(job);
            }
            Ok(jobs)
        };
        self.read("list_jobs", jobs).await
    }
}

impl Step<'_> {
    /// The newest first.
    fn ends(&self, of: &EndsBefore, most: usize) -> Result<Vec<End>> {
        let EndsBefore { queue, state, before } = of;
        let place = (before.at.as_millis(), before.seq);
        let read = |row: &Row<'_>, at: &EndColumns| {
            let id = Reader::of(row).id(at.id).unwrap_or(JobId::from_bytes([0; 16]));
            Ok(End { at: Timestamp::from_millis(row.get(at.at)?), seq: row.get(at.seq)?, id })
        };
        let queue = queue.as_str();
        if *state == State::Completed {
            return self.rows(RECENT_COMPLETED, params![queue, place.0, place.1, most], read);
        }
        let before = params![queue, *state as i64, place.0, place.1, most];
        self.rows(RECENT_ENDS, before, read)
    }
}
