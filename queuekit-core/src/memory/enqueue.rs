//! Storing new jobs (contract R2).

use super::tables::Tables;
use crate::backend::EnqueueOutcome;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::job::{NewJob, State};
use crate::lifecycle::Record;
use crate::retry::queue_full_retry_after;
use crate::store_limits::Limits;

impl Tables {
    pub(super) fn enqueue(
        &mut self,
        jobs: &[NewJob],
        limits: &Limits,
    ) -> Result<Vec<EnqueueOutcome>> {
        limits.admit_jobs(jobs)?;
        let now = self.now;
        let place = |(item, job): (usize, &NewJob)| {
            job.scheduled_at(now).map_err(|error| error.at_item(item))
        };
        // Every time is checked before a job is stored, because a call that fails stores nothing.
        let places: Vec<_> = jobs.iter().enumerate().map(place).collect::<Result<_>>()?;
        self.open_queues(jobs.iter().map(NewJob::queue), limits)?;
        self.jobs.reserve(jobs.len());
        let placed = jobs.iter().zip(places);
        Ok(placed.map(|(job, scheduled_at)| self.enqueue_one(job, scheduled_at)).collect())
    }

    pub(super) fn enqueue_one(&mut self, job: &NewJob, scheduled_at: Timestamp) -> EnqueueOutcome {
        // The id comes before the key: a repeated call must find its own job, even if its key is
        // free again.
        if let Some(stored) = self.jobs.get(&job.id()) {
            let existing = stored.id;
            let same = stored.is_same(job);
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
        // A delivery is never refused: a slow consumer must not keep an event from the others.
        if job.event().is_none()
            && let Some(queue) = self.queues.get(job.queue())
            && let Some(max) = queue.settings.max_pending
            && queue.count(State::Pending) >= max
        {
            return EnqueueOutcome::QueueFull { retry_after: queue_full_retry_after() };
        }
        let seq = self.next_seq();
        self.add(Record::new(job, scheduled_at, seq, self.now));
        EnqueueOutcome::Created { id: job.id() }
    }
}
