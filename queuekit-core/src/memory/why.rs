//! Why a job is not running (contract R6.9).

use super::listing::{Frontiers, jobs_before};
use super::record::Record;
use super::tables::Tables;
use crate::capability::Why;
use crate::job::{JobId, Status};

impl Tables {
    pub(super) fn why(&self, id: JobId) -> Option<Why> {
        let record = self.jobs.get(&id)?;
        let queue = self.queues.get(&record.queue)?;
        let in_ = record.scheduled_at.since(self.now);
        let worker = record.worker.clone();
        Some(match (self.status(record, queue, &mut Frontiers::default()), worker) {
            (Status::Running, Some(worker)) => {
                let lease_expires_in = record.lease_expires_at.since(self.now);
                Why::Running { worker, lease_expires_in }
            }
            (Status::Expired | Status::Ready, _) if queue.settings.paused => {
                Why::Paused { queue: record.queue.clone() }
            }
            (Status::Expired, Some(worker)) => {
                Why::Expired { worker, ago: self.now.since(record.lease_expires_at) }
            }
            (Status::Scheduled, _) => Why::Scheduled { in_ },
            (Status::Failed, _) => Why::WaitingForRetry {
                in_,
                attempts: record.attempts,
                max_attempts: record.max_attempts,
            },
            (Status::Blocked, _) => self.blocked(record)?,
            (Status::Ready, _) if !self.has_live_worker(record) => {
                Why::NoLiveWorker { queue: record.queue.clone(), kind: record.kind.clone() }
            }
            (Status::Ready, _) => Why::Ready { jobs_before: jobs_before(queue, record, self.now) },
            _ => Why::Ended {
                state: record.state,
                reason: record.reason.as_ref().map(|reason| reason.as_str().to_owned()),
            },
        })
    }

    fn blocked(&self, record: &Record) -> Option<Why> {
        let key = record.partition_key.clone()?;
        let partition = self.queues.get(&record.queue)?.partitions.get(&key)?;
        let behind = partition.blocker().filter(|blocker| *blocker != record.id);
        Some(Why::Blocked { key, behind })
    }

    fn has_live_worker(&self, record: &Record) -> bool {
        self.live_workers().any(|beat| beat.serves(&record.queue, &record.kind))
    }
}
