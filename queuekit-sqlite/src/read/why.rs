//! Why a job is not running (contract R6.9).

use queuekit_core::capability::{Why, WhyFacts};
use queuekit_core::{JobId, Result};
use rusqlite::params;

use super::status::Frontiers;
use crate::row::Record;
use crate::statements::{COUNT_BEFORE, LANE_BLOCKER, NEXT_RANK};
use crate::step::Step;

/// The most jobs that are counted before one.
const EXAMINED: i64 = 10_000;

impl Step<'_> {
    pub(crate) fn why(&mut self, id: JobId) -> Result<Option<Why>> {
        let Some(record) = self.job(id)? else {
            return Ok(None);
        };
        let at = self.queue_of(&record)?;
        let status = self.status(&record, &mut Frontiers::default())?;
        let job = self.view(&record, status)?;
        let overdue = record.lease_expires_at.map(|at| self.now.since(at)).unwrap_or_default();
        let served = self.any_worker(|beat| beat.serves(&job.queue, &job.kind))?;
        let mut why = Why::of(WhyFacts {
            job: &job,
            now: self.now,
            overdue,
            settings: &self.queue_at(at).settings,
            has_live_worker: served,
        });
        match &mut why {
            Why::Blocked { behind, .. } => *behind = self.blocker(at, &record)?,
            Why::Ready { jobs_before } => *jobs_before = self.jobs_before(at, &record)?,
            _ => {}
        }
        Ok(Some(why))
    }

    /// The job that this one waits for; none if its key has all the leases it may have.
    fn blocker(&self, queue: usize, record: &Record) -> Result<Option<JobId>> {
        let place = params![self.queue_at(queue).id, record.partition_key()];
        let blocker = self.value(LANE_BLOCKER, place)?;
        Ok(blocker.map(JobId::from_bytes).filter(|blocker| *blocker != record.id))
    }

    /// How many jobs of the queue are served before this one; none if it takes too long to count.
    fn jobs_before(&self, queue: usize, record: &Record) -> Result<Option<u64>> {
        if self.queue_at(queue).is_fair() {
            return Ok(None);
        }
        let id = self.queue_at(queue).id;
        let (mut before, mut rank) = (0, -1);
        while let Some(next) = self.value(NEXT_RANK, params![id, rank])? {
            rank = next;
            if rank > record.rank || before >= EXAMINED {
                break;
            }
            let all_due = (self.now.as_millis(), i64::MAX);
            let own_place = (record.scheduled_at.as_millis(), record.seq - 1);
            let (at, seq) = if rank == record.rank { own_place.min(all_due) } else { all_due };
            let counted = params![id, rank, at, seq, EXAMINED - before];
            before += self.value::<i64>(COUNT_BEFORE, counted)?.unwrap_or(0);
        }
        Ok((before < EXAMINED).then_some(before as u64))
    }
}
