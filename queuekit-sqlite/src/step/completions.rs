//! Completing jobs (contract R3.2). A completed job stays under a claim, which says when and by
//! whom: its own row is written only if it has a result.

use std::collections::{BTreeMap, HashSet};

use queuekit_core::{Result, State};
use rusqlite::params;

use super::Step;
use crate::row::Record;
use crate::statements::*;

/// Jobs that one call completes, and whose places it states together.
#[derive(Default)]
pub(super) struct Completions {
    /// By queue and claim: the jobs with their sequences.
    runs: BTreeMap<(usize, i64), Vec<(i64, i64)>>,
    jobs: HashSet<i64>,
}

impl Completions {
    pub(super) fn has(&self, record: &Record) -> bool {
        self.jobs.contains(&record.key)
    }
}

impl Step<'_> {
    /// Completes a running job at the end of the call, if nothing else changes with it: neither a
    /// key nor a request to stop. Returns whether it does.
    pub(super) fn complete_later(
        &mut self,
        record: &Record,
        completions: &mut Completions,
    ) -> Result<bool> {
        let is_plain = record.lane.is_none() && record.idempotency_key.is_none();
        let Some(claim) = record.claim.filter(|_| is_plain && !record.cancel_requested) else {
            return Ok(false);
        };
        let queue = self.queue_of(record)?;
        self.store_result(record)?;
        self.queues[queue].count_job(State::Running, record.size, -1);
        self.queues[queue].count_job(State::Completed, record.size, 1);
        completions.jobs.insert(record.key);
        completions.runs.entry((queue, claim)).or_default().push((record.key, record.seq));
        Ok(true)
    }

    /// Completes the jobs that were left for the end of the call.
    pub(super) fn complete_all(&mut self, completions: Completions) -> Result<()> {
        for ((queue, claim), runs) in completions.runs {
            let completed = self.complete_claim(queue, claim, &runs)?;
            if completed != claim {
                self.move_runs(&runs, completed)?;
            }
        }
        Ok(())
    }

    /// Completes one job, whose row among the runs changes in any case.
    pub(super) fn complete(&mut self, queue: usize, record: &Record) -> Result<()> {
        self.store_result(record)?;
        let Some(claim) = record.claim else { return Ok(()) };
        let run = [(record.key, record.seq)];
        let completed = self.complete_claim(queue, claim, &run)?;
        self.move_runs(&run, completed)
    }

    /// States that some jobs of a claim have completed: by the claim itself if it has no others,
    /// and else by one of their own, which is returned.
    fn complete_claim(&mut self, queue: usize, claim: i64, runs: &[(i64, i64)]) -> Result<i64> {
        let (end_seq, end_offset) = self.places(queue, runs);
        let completed = params![claim, self.now.as_millis(), end_seq, end_offset];
        if self.value(CLAIM_JOBS, [claim])? == Some(runs.len()) {
            self.execute(CLAIM_COMPLETE, completed)?;
            return Ok(claim);
        }
        self.execute(CLAIM_SPLIT_COMPLETED, completed)?;
        Ok(self.conn.last_insert_rowid())
    }

    fn move_runs(&self, runs: &[(i64, i64)], claim: i64) -> Result<()> {
        runs.iter().try_for_each(|(job, _)| self.execute(RUN_COMPLETE, [*job, claim]).map(drop))
    }

    /// Counts completed jobs, and gives them places among the ended in the order of their
    /// sequences: the last place, and how far it is ahead of the last sequence.
    fn places(&mut self, queue: usize, runs: &[(i64, i64)]) -> (i64, i64) {
        let seqs = || runs.iter().map(|(_, seq)| *seq);
        let (first, last) = (seqs().min().unwrap_or_default(), seqs().max().unwrap_or_default());
        let end_seq = self.queues[queue].add_completed(runs.len(), last - first + 1);
        (end_seq, end_seq - last)
    }

    fn store_result(&self, record: &Record) -> Result<()> {
        let Some(result) = &record.result else { return Ok(()) };
        self.execute(JOB_RESULT, params![record.key, result.as_ref(), record.size]).map(drop)
    }
}
