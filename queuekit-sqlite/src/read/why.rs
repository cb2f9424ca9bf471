//! Why a job is not running (contract R6.9).

use queuekit_core::capability::Why;
use queuekit_core::{JobId, Kind, PartitionKey, Result, Status, WorkerId};
use rusqlite::params;

use super::status::Frontiers;
use crate::row::Record;
use crate::statements::{COUNT_BEFORE, LANE_BLOCKER, NEXT_RANK};
use crate::step::Step;

/// Jobs that are counted before one, at most.
const EXAMINED: i64 = 10_000;

impl Step<'_> {
    pub(crate) fn why(&mut self, id: JobId) -> Result<Option<Why>> {
        let Some(record) = self.job(id)? else {
            return Ok(None);
        };
        let at = self.queue_of(&record)?;
        let queue = self.queue_at(at).name.clone();
        let paused = self.queue_at(at).settings.paused;
        let in_ = record.scheduled_at.since(self.now);
        let worker = record.worker.as_deref().and_then(|id| WorkerId::new(id).ok());
        let expires_at = record.lease_expires_at.unwrap_or_default();
        let why = match (self.status(&record, &mut Frontiers::default())?, worker) {
            (Status::Running, Some(worker)) => {
                Why::Running { worker, lease_expires_in: expires_at.since(self.now) }
            }
            (Status::Expired | Status::Ready, _) if paused => Why::Paused { queue },
            (Status::Expired, Some(worker)) => {
                Why::Expired { worker, ago: self.now.since(expires_at) }
            }
            (Status::Scheduled, _) => Why::Scheduled { in_ },
            (Status::Failed, _) => Why::WaitingForRetry {
                in_,
                attempts: record.attempts,
                max_attempts: record.max_attempts,
            },
            (Status::Blocked, _) => return self.blocked(at, &record),
            (Status::Ready, _) => match self.unserved(&record)? {
                Some(kind) => Why::NoLiveWorker { queue, kind },
                None => Why::Ready { jobs_before: self.jobs_before(at, &record)? },
            },
            _ => Why::Ended { state: record.state, reason: record.reason },
        };
        Ok(Some(why))
    }

    fn blocked(&self, queue: usize, record: &Record) -> Result<Option<Why>> {
        let Some(key) = record.partition_key() else {
            return Ok(None);
        };
        let place = params![self.queue_at(queue).id, key];
        let behind = self.row(LANE_BLOCKER, place, |row| row.get(0))?;
        let behind = behind.map(JobId::from_bytes).filter(|behind| *behind != record.id);
        Ok(PartitionKey::new(key).ok().map(|key| Why::Blocked { key, behind }))
    }

    /// The job's kind, if no live worker serves it in the job's queue.
    fn unserved(&mut self, record: &Record) -> Result<Option<Kind>> {
        let queue = self.queue_of(record)?;
        let name = &self.queue_at(queue).name;
        let Ok(kind) = Kind::new(&record.kind) else {
            return Ok(None);
        };
        let workers = self.list_workers()?;
        let mut beats = workers.iter().map(|worker| &worker.beat);
        let served = beats.any(|beat| beat.serves(name, &kind));
        Ok((!served).then_some(kind))
    }

    /// How many jobs of the queue are served before this one; none if it takes too long to count.
    fn jobs_before(&self, queue: usize, record: &Record) -> Result<Option<u64>> {
        if self.queue_at(queue).is_fair() {
            return Ok(None);
        }
        let id = self.queue_at(queue).id;
        let (mut before, mut rank) = (0, -1);
        while let Some(next) = self.row(NEXT_RANK, params![id, rank], |row| row.get(0))? {
            rank = next;
            if rank > record.rank || before >= EXAMINED {
                break;
            }
            let all_due = (self.now.as_millis(), i64::MAX);
            let own_place = (record.scheduled_at.as_millis(), record.seq - 1);
            let (at, seq) = if rank == record.rank { own_place.min(all_due) } else { all_due };
            let counted = params![id, rank, at, seq, EXAMINED - before];
            before += self.row(COUNT_BEFORE, counted, |row| row.get::<_, i64>(0))?.unwrap_or(0);
        }
        Ok((before < EXAMINED).then_some(before as u64))
    }
}
