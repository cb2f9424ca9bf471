//! The journal, put in order by job.

use std::collections::BTreeMap;

use queuekit_core::{JobId, Timestamp};

use super::call::Shape;
use super::{Call, Entry, Event, Run, RunId};

/// The entries of the journal about each job, and about the processes.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) jobs: BTreeMap<JobId, Told>,
    pub(super) kills: BTreeMap<u32, Moment>,
    /// Calls of the store that failed and were repeated.
    pub(super) failed_calls: usize,
}

/// The entries about one job.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) call: Call,
    /// An enqueue call that stored it, or found it stored, answered Ok.
    pub(super) accepted: bool,
    /// In the order in which they began.
    pub(super) runs: Vec<RunTold>,
}

/// The entries about one run.
#[derive(Clone, Debug)]
pub(super) struct RunTold {
    pub(super) run: Run,
    pub(super) pid: u32,
    pub(super) started: Moment,
    /// The handler's end.
    pub(super) ended: Option<usize>,
    /// The store's answer: the line, and whether it was "completed".
    pub(super) settled: Option<(usize, bool)>,
    /// The worker found out that its lease no longer held.
    pub(super) lease_lost: bool,
    /// The end of its process, if it was killed at any time.
    pub(super) killed: Option<Moment>,
}

/// A line of the journal, and when it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) line: usize,
    pub(super) at: Timestamp,
}

impl History {
    pub(super) fn of(entries: &[Entry]) -> Self {
        let mut history = Self::default();
        for (line, entry) in entries.iter().enumerate() {
            history.add(line, entry);
        }
        for run in history.jobs.values_mut().flat_map(|told| &mut told.runs) {
            run.killed = history.kills.get(&run.pid).copied();
        }
        history
    }

    fn add(&mut self, line: usize, entry: &Entry) {
        let moment = Moment { line, at: entry.at };
        match &entry.event {
            Event::Ready | Event::Calling(_) | Event::Emitted(_) | Event::Delivered(..) => {}
            Event::LeasesLost(_) | Event::Stopped | Event::Continued => {}
            Event::Accepted(call, job) => self.job(*job, call).accepted = true,
            Event::Started(run) => {
                let (run, pid) = (run.clone(), entry.pid);
                let told = self.job(run.id.job, &run.call);
                told.runs.push(RunTold::started(run, pid, moment));
            }
            Event::Ended(id) => self.run(*id, entry.pid, |run| run.ended = Some(line)),
            Event::Settled(id, outcome) => self.run(*id, entry.pid, |run| {
                run.settled = Some((line, outcome == "completed"));
                run.lease_lost |= outcome == "lease_lost";
            }),
            Event::LeaseLost(id) => self.run(*id, entry.pid, |run| run.lease_lost = true),
            Event::Failed(_) => self.failed_calls += 1,
            Event::Killed => {
                self.kills.insert(entry.pid, moment);
            }
        }
    }

    fn job(&mut self, id: JobId, call: &Call) -> &mut Told {
        let new = || Told { call: call.clone(), accepted: false, runs: Vec::new() };
        self.jobs.entry(id).or_insert_with(new)
    }

    fn run(&mut self, id: RunId, pid: u32, change: impl FnOnce(&mut RunTold)) {
        let runs = self.jobs.get_mut(&id.job).into_iter().flat_map(|told| &mut told.runs);
        if let Some(run) = runs.rev().find(|run| run.run.id == id && run.pid == pid) {
            change(run);
        }
    }

    pub(super) fn runs(&self) -> impl Iterator<Item = &RunTold> {
        self.jobs.values().flat_map(|told| &told.runs)
    }

    /// The runs of each partition key, which is its caller's name, in the order of their beginning.
    pub(super) fn runs_by_key(&self) -> BTreeMap<&str, Vec<&RunTold>> {
        let mut by_key: BTreeMap<&str, Vec<&RunTold>> = BTreeMap::new();
        for run in self.runs().filter(|run| run.run.call.shape() == Shape::Ordered) {
            by_key.entry(&run.run.call.caller).or_default().push(run);
        }
        by_key.values_mut().for_each(|runs| runs.sort_by_key(|run| run.started.line));
        by_key
    }

    /// The jobs of each call with an idempotency key.
    pub(super) fn jobs_by_unique_call(&self) -> BTreeMap<&Call, Vec<JobId>> {
        let mut by_call: BTreeMap<&Call, Vec<JobId>> = BTreeMap::new();
        let unique = self.jobs.iter().filter(|(_, told)| told.call.shape() == Shape::Unique);
        unique.for_each(|(id, told)| by_call.entry(&told.call).or_default().push(*id));
        by_call
    }
}

impl RunTold {
    fn started(run: Run, pid: u32, started: Moment) -> Self {
        let (ended, settled, lease_lost, killed) = (None, None, false, None);
        Self { run, pid, started, ended, settled, lease_lost, killed }
    }

    pub(super) fn job(&self) -> JobId {
        self.run.id.job
    }

    pub(super) fn lease_seq(&self) -> u64 {
        self.run.id.lease_seq
    }

    /// The line at which it certainly was over.
    pub(super) fn over(&self) -> usize {
        let ends = [self.ended, self.killed.map(|killed| killed.line)];
        ends.into_iter().flatten().min().unwrap_or(usize::MAX)
    }

    pub(super) fn completed(&self) -> Option<usize> {
        self.settled.and_then(|(line, completed)| completed.then_some(line))
    }
}
