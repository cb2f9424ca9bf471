//! Why a job is not running (contract R6.9).

use super::listing::{Frontiers, jobs_before};
use super::tables::Tables;
use crate::capability::{Why, WhyFacts};
use crate::job::JobId;
use crate::lifecycle::Record;

impl Tables {
    pub(super) fn why(&self, id: JobId) -> Option<Why> {
        let record = self.jobs.get(&id)?;
        let queue = self.queues.get(&record.queue)?;
        let status = self.status(record, queue, &mut Frontiers::default());
        let mut why = Why::of(WhyFacts {
            job: &record.view(status, self.now),
            now: self.now,
            overdue: self.now.since(record.lease_expires_at),
            settings: &queue.settings,
            has_live_worker: self.has_live_worker(record),
        });
        match &mut why {
            Why::Blocked { behind, .. } => *behind = self.blocker(record),
            Why::Ready { jobs_before: before } => *before = jobs_before(queue, record, self.now),
            _ => {}
        }
        Some(why)
    }

    /// The job that this one waits for; none if its key has all the leases it may have.
    fn blocker(&self, record: &Record) -> Option<JobId> {
        let key = record.partition_key.as_ref()?;
        let partition = self.queues.get(&record.queue)?.partitions.get(key)?;
        partition.blocker().filter(|blocker| *blocker != record.id)
    }

    fn has_live_worker(&self, record: &Record) -> bool {
        self.live_workers().any(|beat| beat.serves(&record.queue, &record.kind))
    }
}
