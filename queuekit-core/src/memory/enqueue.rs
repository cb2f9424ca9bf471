//! Storing new jobs (contract R2).

use super::record::Record;
use super::tables::Tables;
use crate::backend::EnqueueOutcome;
use crate::error::Result;
use crate::job::{NewJob, State};
use crate::limits::Limits;
use crate::retry::queue_full_retry_after;

impl Tables {
    pub(super) fn enqueue(
        &mut self,
        jobs: &[NewJob],
        limits: &Limits,
    ) -> Result<Vec<EnqueueOutcome>> {
        limits.admit_jobs(jobs)?;
        self.open_queues(jobs.iter().map(NewJob::queue), limits)?;
        self.jobs.reserve(jobs.len());
        Ok(jobs.iter().map(|job| self.enqueue_one(job)).collect())
    }

    fn enqueue_one(&mut self, job: &NewJob) -> EnqueueOutcome {
        if let Some(stored) = self.jobs.get(&job.id()) {
            let existing = stored.id;
            let same = stored.kind == *job.kind() && stored.payload == *job.payload();
            return if same {
                EnqueueOutcome::Duplicate { existing }
            } else {
                EnqueueOutcome::Conflict { existing }
            };
        }
        if let Some(key) = job.idempotency_key()
            && let Some(existing) = self.keys.holder(job.queue(), key, self.now)
        {
            return EnqueueOutcome::Duplicate { existing };
        }
        if let Some(queue) = self.queues.get(job.queue())
            && let Some(max) = queue.settings.max_pending
            && queue.count(State::Pending) >= max
        {
            return EnqueueOutcome::QueueFull {
                retry_after: queue_full_retry_after(),
            };
        }
        let seq = self.next_seq();
        self.add(Record::new(job, seq, self.now));
        EnqueueOutcome::Created { id: job.id() }
    }
}
