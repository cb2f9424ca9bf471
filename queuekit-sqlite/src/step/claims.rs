//! Leases: what one reserve call leases is a claim, and each job that runs stands under one.

use std::mem::take;

use queuekit_core::lifecycle::Transition;
use queuekit_core::{Reserve, Result, State, Timestamp};
use rusqlite::params;

use super::Step;
use crate::row::Record;
use crate::statements::*;

/// What a reserve call has granted so far.
pub(super) struct Grants<'r> {
    pub(super) request: &'r Reserve,
    /// Ready jobs that follow each other in serving order, whose leases have the same number. They
    /// are granted together.
    run: Vec<Record>,
    /// The claim of the jobs that were granted one by one, with their queue and the number of their
    /// leases.
    last: Option<(usize, u64, i64)>,
}

impl<'r> Grants<'r> {
    pub(super) fn of(request: &'r Reserve) -> Self {
        Self { request, run: Vec::new(), last: None }
    }
}

impl Step<'_> {
    /// Leases a ready job. One without a key changes nothing but its place, so it waits for
    /// [`grant_run`](Self::grant_run).
    pub(super) fn grant(
        &mut self,
        queue: usize,
        mut record: Record,
        grants: &mut Grants<'_>,
    ) -> Result<()> {
        let is_plain = self.lane_name(queue, record.partition_key()).is_none();
        let goes_on = grants.run.first().is_none_or(|first| first.lease_seq == record.lease_seq);
        if !is_plain || !goes_on {
            self.grant_run(queue, grants)?;
        }
        if is_plain {
            grants.run.push(record);
            return Ok(());
        }
        let lease_seq = record.lease_seq + 1;
        let claim = match grants.last {
            Some((of, number, claim)) if (of, number) == (queue, lease_seq) => claim,
            _ => self.begin_claim(queue, lease_seq, grants.request)?,
        };
        grants.last = Some((queue, lease_seq, claim));
        self.grant_one(&mut record, claim)
    }

    /// Leases the jobs that were found to follow each other.
    pub(super) fn grant_run(&mut self, queue: usize, grants: &mut Grants<'_>) -> Result<()> {
        let run = take(&mut grants.run);
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            return Ok(());
        };
        let claim = self.begin_claim(queue, first.lease_seq + 1, grants.request)?;
        let id = self.queues[queue].id;
        let from = (first.rank, first.scheduled_at.as_millis(), first.seq);
        let to = (last.scheduled_at.as_millis(), last.seq);
        let jobs = params![id, from.0, from.1, from.2, to.0, to.1, claim];
        if self.execute(RUNS_INSERT_READY, jobs)? == run.len() {
            self.execute(READY_DELETE_RANGE, params![id, from.0, from.1, from.2, to.0, to.1])?;
            let leased = run.len() as i64;
            self.queues[queue].count_job(State::Pending, 0, -leased);
            self.queues[queue].count_job(State::Running, 0, leased);
            return Ok(());
        }
        // Places that belong to no pending job stand between them: the file was changed by hand.
        self.execute(RUNS_DELETE_OF_CLAIM, [claim])?;
        run.into_iter().try_for_each(|mut record| self.grant_one(&mut record, claim))
    }

    fn grant_one(&mut self, record: &mut Record, claim: i64) -> Result<()> {
        self.apply(record, Transition::Reserve, |record| record.claim = Some(claim))
    }

    fn begin_claim(&self, queue: usize, lease_seq: u64, request: &Reserve) -> Result<i64> {
        let claim = params![
            self.queues[queue].id,
            &request.nonce.as_bytes()[..],
            lease_seq as i64,
            (self.now + request.ttl.get()).as_millis(),
            self.now.as_millis(),
            request.worker.as_str(),
        ];
        self.execute(CLAIM_INSERT, claim)?;
        Ok(self.conn.last_insert_rowid())
    }

    /// Lets a job run under its claim.
    pub(super) fn run(&self, record: &Record) -> Result<()> {
        let Record { key, claim, queue, seq, lane, .. } = record;
        self.execute(RUN_INSERT, params![key, claim, queue, seq, lane]).map(drop)
    }

    /// Takes a job out of its claim. If it was the last, the claim of leases goes at the end of the
    /// step, and that of completed jobs at once: retention looks for the first of them again.
    pub(super) fn leave_claim(&mut self, record: &mut Record) -> Result<()> {
        if record.state == State::Completed {
            return self.forget_run(record.key);
        }
        self.execute(RUN_DELETE, [record.key])?;
        self.left.extend(record.claim.take());
        Ok(())
    }

    /// Removes the run of a job that has completed, and its claim if it was the last.
    pub(super) fn forget_run(&self, key: i64) -> Result<()> {
        let claim = self.value::<i64>(RUN_CLAIM, [key])?;
        self.execute(RUN_DELETE, [key])?;
        self.execute(CLAIM_DELETE, [claim]).map(drop)
    }

    /// Moves the end of the leases of some jobs of a claim; the others keep theirs.
    pub(super) fn extend_claim(
        &self,
        claim: i64,
        jobs: &[i64],
        expires_at: Timestamp,
    ) -> Result<()> {
        let expires_at = expires_at.as_millis();
        if self.value(CLAIM_JOBS, [claim])? == Some(jobs.len()) {
            return self.execute(CLAIM_EXTEND, [claim, expires_at]).map(drop);
        }
        self.execute(CLAIM_SPLIT, [claim, expires_at])?;
        let split = self.conn.last_insert_rowid();
        jobs.iter().try_for_each(|job| self.execute(RUN_MOVE, [*job, split]).map(drop))
    }

    /// Forgets the claims that jobs have left, if none is held any more.
    pub(super) fn forget_claims(&self) -> Result<()> {
        self.left.iter().try_for_each(|claim| self.execute(CLAIM_DELETE, [claim]).map(drop))
    }
}
