//! Repair of places: each job that has not ended stands in exactly one (contract R13.7).

use queuekit_core::{QueueName, Result, State};
use rusqlite::params;

use super::Step;
use super::place::Place;
use crate::column_names::columns;
use crate::statements::*;

/// The most jobs or places that one step looks at or mends.
const STEP: usize = 1000;

/// Places of a queue where no job should stand.
#[derive(Debug, Default)]
pub(crate) struct Misplaced {
    /// Places that belong to no pending job: rank, time and sequence; lane and sequence.
    ready_of_none: Vec<(i64, i64, i64)>,
    waiting_of_none: Vec<(String, i64)>,
    /// Leases of no job, with their claims; and claims without leases.
    running_of_none: Vec<(i64, i64)>,
    claims_of_none: Vec<i64>,
}

columns! {
    struct ReadyColumns { rank, at, seq }
    struct LaneColumns { lane, seq }
    struct RunningColumns { key, claim }
    struct SliceColumns { last, jobs }
}

impl Misplaced {
    pub(crate) fn is_empty(&self) -> bool {
        let places = self.ready_of_none.is_empty() && self.waiting_of_none.is_empty();
        places && self.running_of_none.is_empty() && self.claims_of_none.is_empty()
    }
}

impl Step<'_> {
    /// The jobs without a place, among the next 1,000 jobs after this key that have not ended, and
    /// the last key looked at if there may be more.
    pub(crate) fn jobs_nowhere(&self, after: i64) -> Result<(Vec<i64>, Option<i64>)> {
        let slice = self.row(JOBS_UP_TO, params![after, STEP], |row, at: &SliceColumns| {
            Ok((row.get::<_, Option<i64>>(at.last)?, row.get::<_, usize>(at.jobs)?))
        })?;
        let Some((Some(last), jobs)) = slice else {
            return Ok((Vec::new(), None));
        };
        Ok((self.keys(JOBS_NOWHERE, [after, last])?, (jobs == STEP).then_some(last)))
    }

    /// Gives jobs a place again. The counters are mended with the queues, which come later.
    pub(crate) fn bring_back(&mut self, jobs: &[i64]) -> Result<u64> {
        let mut mended = 0;
        for key in jobs {
            // Another process may have brought it back, or served it, meanwhile.
            if self.keys(JOBS_NOWHERE, [key - 1, *key])?.is_empty() {
                continue;
            }
            let Some(record) = self.job_of_key(*key)? else {
                continue;
            };
            let queue = self.queue_of(&record)?;
            // It may have a lease without a claim.
            self.execute(RUN_DELETE, [key])?;
            self.stand(queue, &Place::of(&record), None)?;
            mended += 1;
        }
        Ok(mended)
    }

    /// Places of a queue that belong to no job; none for a queue with more than `most` waiting
    /// jobs.
    pub(crate) fn misplaced(&mut self, name: &QueueName, most: u64) -> Result<Misplaced> {
        let Some(id) = self.short_queue(name, most)? else {
            return Ok(Misplaced::default());
        };
        let ready = self.rows(READY_OF_NONE, params![id, STEP], |row, at: &ReadyColumns| {
            Ok((row.get(at.rank)?, row.get(at.at)?, row.get(at.seq)?))
        })?;
        let waiting = self.rows(WAITING_OF_NONE, params![id, STEP], lane_and_seq)?;
        let running = self.rows(RUNS_OF_NONE, params![id, STEP], |row, at: &RunningColumns| {
            Ok((row.get(at.key)?, row.get(at.claim)?))
        })?;
        Ok(Misplaced {
            ready_of_none: ready,
            waiting_of_none: waiting,
            running_of_none: running,
            claims_of_none: self.column(CLAIMS_OF_NONE, params![id, STEP])?,
        })
    }

    /// Removes places that belong to no job. The counters are mended afterwards.
    pub(crate) fn clear(&mut self, name: &QueueName, most: u64) -> Result<u64> {
        let misplaced = self.misplaced(name, most)?;
        let Some(queue) = self.queue(name)? else {
            return Ok(0);
        };
        let id = self.queues[queue].id;
        let mut cleared = 0;
        for (rank, at, seq) in misplaced.ready_of_none {
            cleared += self.execute(READY_DELETE, params![id, rank, at, seq])?;
        }
        for (lane, seq) in misplaced.waiting_of_none {
            cleared += self.execute(WAITING_DELETE, params![id, lane, seq])?;
        }
        for (job, claim) in misplaced.running_of_none {
            cleared += self.execute(RUN_DELETE, [job])?;
            self.left.insert(claim);
        }
        for claim in misplaced.claims_of_none {
            cleared += self.execute(CLAIM_DELETE, [claim])?;
        }
        Ok(cleared as u64)
    }

    /// Some ready jobs with a key that are not the head of it; none for a queue with more than
    /// `most` waiting jobs.
    pub(crate) fn extra_heads(
        &mut self,
        name: &QueueName,
        most: u64,
    ) -> Result<Vec<(String, i64)>> {
        match self.short_queue(name, most)? {
            Some(id) => self.rows(HEADS_EXTRA, params![id, STEP], lane_and_seq),
            None => Ok(Vec::new()),
        }
    }

    /// Lets ready jobs wait that are not the head of their key.
    pub(crate) fn return_heads(
        &mut self,
        name: &QueueName,
        heads: &[(String, i64)],
    ) -> Result<u64> {
        let Some(queue) = self.queue(name)? else {
            return Ok(0);
        };
        let mut mended = 0;
        for (name, seq) in heads {
            let mut lane = self.lane(queue, name)?;
            if lane.head != Some(*seq) {
                mended += self.return_head(&lane, *seq)?;
                self.refresh(&mut lane)?;
            }
        }
        self.stir(queue);
        Ok(mended)
    }

    /// The queue, if it is not too long to look at all of its waiting jobs.
    fn short_queue(&mut self, name: &QueueName, most: u64) -> Result<Option<i64>> {
        let queue = self.queue(name)?.map(|queue| &self.queues[queue]);
        let short = queue.filter(|queue| queue.count(State::Pending) <= most);
        Ok(short.map(|queue| queue.id))
    }
}

fn lane_and_seq(row: &rusqlite::Row<'_>, at: &LaneColumns) -> rusqlite::Result<(String, i64)> {
    Ok((row.get(at.lane)?, row.get(at.seq)?))
}
