//! The assertions of a crash test, from the journal and from the final contents of the store.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use queuekit_core::limits::FAILURES_KEPT;
use queuekit_core::{Job, JobId, State};

use super::history::{History, RunTold, Told};
use super::{Entry, TTL};

/// A broken promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A job that was accepted, or ran, is not stored or did not complete (R0.2).
    Lost,
    /// A job ran again and its record does not say why. A second run is explained if its
    /// `lease_seq` is higher, the run before it was never recorded as completed, and the job's
    /// history of errors has a failure ("lease expired", as a rule) under the lease of that run,
    /// or else the job counts a release: workers release runs whose lease is in doubt. Each release
    /// explains one run.
    Unexplained,
    /// Two leases of one job, or of one partition key, were live at once (R0.3, R7.3): a run began
    /// before another one was over whose lease held, for it completed, or nothing says that it
    /// was lost.
    Overlap,
    /// A job of a partition key ran before one that was accepted before it was enqueued (R7.3).
    Order,
    /// Two jobs of one idempotency key (R2.6).
    Doubled,
    /// The record of a job does not fit its runs: attempts are not leases minus releases (R1.5),
    /// it was completed under a lease that no run had, or its result is that of another run.
    Record,
}

/// The verdict.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Processes killed.
    pub kills: usize,
    /// Jobs whose enqueue was answered with Ok.
    pub accepted: usize,
    /// Runs begun.
    pub runs: usize,
    /// Runs that followed one whose process was killed.
    pub repeats_after_kill: usize,
    /// Runs that followed one that was released, or whose lease was lost otherwise.
    pub repeats_otherwise: usize,
    /// Runs that were still under way, without their lease, when their successor began.
    pub outlived_leases: usize,
    /// Leases that the store took back long before their time; where nothing stalls there are none.
    pub early: usize,
    /// For each run that was cut off, the time from the kill to the next lease of its job.
    pub recoveries: Vec<Duration>,
    /// Those whose next lease was cut off, too, before it was seen.
    pub unseen_recoveries: usize,
    /// Calls of the store that failed and were repeated.
    pub failed_calls: usize,
    /// Everything that breaks a promise.
    pub faults: Vec<(Fault, String)>,
}

impl Verdict {
    /// Judges the journal by the stored records of its jobs.
    pub fn of(entries: &[Entry], stored: &BTreeMap<JobId, Job>) -> Self {
        let history = History::of(entries);
        let mut verdict = Self {
            kills: history.kills.len(),
            accepted: history.jobs.values().filter(|told| told.accepted).count(),
            runs: history.runs().count(),
            failed_calls: history.failed_calls,
            ..Self::default()
        };
        for (id, told) in &history.jobs {
            match stored.get(id) {
                Some(job) => verdict.judge_job(told, job),
                None => verdict.fault(Fault::Lost, format!("{id} is not stored; {told:?}")),
            }
        }
        verdict.judge_keys(&history, stored);
        verdict.judge_calls(&history);
        verdict
    }

    /// How often this promise was broken.
    pub fn count(&self, fault: Fault) -> usize {
        self.faults.iter().filter(|(each, _)| *each == fault).count()
    }

    /// The longest time from a kill to the next lease of a job that it had cut off.
    pub fn worst_recovery(&self) -> Duration {
        self.recoveries.iter().max().copied().unwrap_or_default()
    }

    /// # Panics
    /// If a promise was broken.
    pub fn assert_faultless(&self) {
        let first: Vec<_> = self.faults.iter().take(5).collect();
        assert!(first.is_empty(), "{self}\nthe first of them: {first:#?}");
    }

    fn fault(&mut self, fault: Fault, what: String) {
        self.faults.push((fault, what));
    }

    fn judge_job(&mut self, told: &Told, job: &Job) {
        let mut releases = job.releases;
        for pair in told.runs.windows(2) {
            self.judge_repeat(&pair[0], &pair[1], job, &mut releases);
        }
        if job.state != State::Completed {
            self.fault(Fault::Lost, format!("not completed: {job:?}, {told:?}"));
            return;
        }
        if u64::from(job.attempts) + u64::from(job.releases) != job.lease_seq {
            self.fault(Fault::Record, format!("attempts and leases differ: {job:?}"));
        }
        if told.runs.last().is_none_or(|run| run.lease_seq() != job.lease_seq) {
            self.fault(Fault::Record, format!("completed by no run: {job:?}, {told:?}"));
        }
        // What a run answers is its lease_seq.
        if job.result.as_deref() != Some(job.lease_seq.to_string().as_bytes()) {
            self.fault(Fault::Record, format!("the result of another run: {job:?}, {told:?}"));
        }
    }

    fn judge_repeat(&mut self, run: &RunTold, next: &RunTold, job: &Job, releases: &mut u32) {
        let what = || format!("{run:?}, then {next:?}; {job:?}");
        let released = !has_failed(job, run) && *releases > 0;
        *releases -= u32::from(released);
        if let Some(line) = run.completed() {
            let late = line > next.started.line;
            self.fault(if late { Fault::Overlap } else { Fault::Unexplained }, what());
        } else if next.lease_seq() <= run.lease_seq() || !(released || has_failed(job, run)) {
            self.fault(Fault::Unexplained, what());
        } else if run.killed.is_some_and(|killed| killed.line < next.started.line) {
            self.repeats_after_kill += 1;
        } else {
            self.repeats_otherwise += 1;
        }
        self.outlived_leases += usize::from(run.over() > next.started.line);
        self.early += usize::from(is_early(job, run));
        self.measure_recovery(run, next);
    }

    fn measure_recovery(&mut self, run: &RunTold, next: &RunTold) {
        let cut_off = run.settled.is_none() && !run.lease_lost;
        let Some(killed) = run.killed.filter(|_| cut_off) else { return };
        if next.started.line < killed.line {
            return;
        }
        if next.lease_seq() == run.lease_seq() + 1 {
            self.recoveries.push(next.started.at.since(killed.at));
        } else {
            self.unseen_recoveries += 1;
        }
    }

    fn judge_keys(&mut self, history: &History, stored: &BTreeMap<JobId, Job>) {
        for runs in history.runs_by_key().values() {
            for pair in runs.windows(2).filter(|pair| pair[0].job() != pair[1].job()) {
                let (run, next) = (pair[0], pair[1]);
                if run.over() <= next.started.line {
                    continue;
                }
                let lost = stored.get(&run.job()).is_some_and(|job| has_failed(job, run));
                if lost && run.completed().is_none() {
                    self.outlived_leases += 1;
                } else {
                    self.fault(Fault::Overlap, format!("{run:?} and {next:?}"));
                }
            }
            // Where an answer is missing, the order of a call and the next one is not defined.
            let accepted = |run: &&&RunTold| history.jobs[&run.job()].accepted;
            let runs: Vec<_> = runs.iter().filter(accepted).collect();
            for pair in runs.windows(2) {
                if pair[0].run.call.number > pair[1].run.call.number {
                    self.fault(Fault::Order, format!("{:?} before {:?}", pair[0], pair[1]));
                }
            }
        }
    }

    fn judge_calls(&mut self, history: &History) {
        for (call, jobs) in history.jobs_by_unique_call() {
            if jobs.len() > 1 {
                self.fault(Fault::Doubled, format!("{call:?}: {jobs:?}"));
            }
        }
        let workers = history.runs().map(|run| (&run.run.worker, run.pid));
        let workers: BTreeSet<_> = workers.collect();
        let names: BTreeSet<_> = workers.iter().map(|(worker, _)| worker).collect();
        if names.len() < workers.len() {
            self.fault(Fault::Record, format!("one id, two workers: {workers:?}"));
        }
    }
}

/// The record says that the run ended without success: its lease expired, or it was asked to stop.
fn has_failed(job: &Job, run: &RunTold) -> bool {
    let listed = job.errors.iter().any(|failure| failure.lease_seq == run.lease_seq());
    listed || job.errors.len() >= FAILURES_KEPT
}

/// The lease expired before its ttl had passed. Both instants are of the store's clock, so a busy
/// machine makes no difference.
fn is_early(job: &Job, run: &RunTold) -> bool {
    let expired = job.errors.iter().find(|failure| {
        failure.lease_seq == run.lease_seq() && failure.error.as_str() == "lease expired"
    });
    expired.is_some_and(|failure| {
        failure.started_at.is_none_or(|started| failure.at.since(started) < TTL)
    })
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "kills: {}, accepted jobs: {}, runs: {}, failed calls: {}",
            self.kills, self.accepted, self.runs, self.failed_calls
        )?;
        writeln!(
            f,
            "lost: {}, repeated runs: {} after a kill, {} otherwise, {} unexplained",
            self.count(Fault::Lost),
            self.repeats_after_kill,
            self.repeats_otherwise,
            self.count(Fault::Unexplained)
        )?;
        writeln!(
            f,
            "overlapping leases: {} (runs that outlived theirs: {}, ended early: {}), \
             out of order: {}, doubled: {}, records that do not fit: {}",
            self.count(Fault::Overlap),
            self.outlived_leases,
            self.early,
            self.count(Fault::Order),
            self.count(Fault::Doubled),
            self.count(Fault::Record)
        )?;
        write!(
            f,
            "recoveries seen: {} (unseen: {}), worst: {:?}",
            self.recoveries.len(),
            self.unseen_recoveries,
            self.worst_recovery()
        )
    }
}

#[cfg(test)]
mod tests;
