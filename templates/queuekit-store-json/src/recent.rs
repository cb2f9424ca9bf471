//! Ends of jobs, for lists of what is recent (R8.7).

use queuekit_core::backend::{AnswerBytes, End, Ended, EndedJobs, EndsBefore};
use queuekit_core::{Job, QueueName, Result, async_trait};

use crate::JsonStore;

#[async_trait]
impl EndedJobs for JsonStore {
    async fn queues(&self, most: usize) -> Result<Vec<QueueName>> {
        self.step("list_jobs", |data| Ok(data.queues.keys().take(most).cloned().collect()))
    }

    async fn ends(&self, of: &[EndsBefore], most: usize) -> Result<Vec<Vec<End>>> {
        self.step("list_jobs", |data| {
            let newest = |EndsBefore { queue, state, before }: &EndsBefore| {
                let of_state = data.of_queue(queue).filter(|record| record.state == *state);
                let ends = of_state.filter_map(|record| {
                    let seq = i64::try_from(record.end_seq).ok()?;
                    Some(End { at: record.finished_at?, seq, id: record.id })
                });
                let mut ends: Vec<End> = ends.filter(|end| end < before).collect();
                ends.sort_unstable_by(|one, other| other.cmp(one));
                ends.truncate(most);
                ends
            };
            Ok(of.iter().map(newest).collect())
        })
    }

    async fn jobs(&self, ended: &[Ended]) -> Result<Vec<Option<Job>>> {
        self.step("list_jobs", |data| {
            let mut bytes = AnswerBytes::default();
            let jobs = ended.iter().map(|ended| data.get_job(ended.end.id));
            Ok(jobs.take_while(|job| bytes.admit(job.as_ref().map_or(0, Job::bytes))).collect())
        })
    }
}
