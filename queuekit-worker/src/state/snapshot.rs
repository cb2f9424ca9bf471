//! What a worker is doing.

use std::time::Duration;

use queuekit_core::{JobId, Kind, QueueName, WorkerId};

use super::shared::Shared;
use super::summary::RunSummary;
use crate::run::phase::Phase;
use crate::run::run::Flag;

/// A worker at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerSnapshot {
    /// The id of this worker process.
    pub id: WorkerId,
    /// The name of the worker.
    pub name: String,
    /// What the worker is doing.
    pub state: WorkerState,
    /// Jobs it may run at once.
    pub slots: usize,
    /// Whether it was ordered to take no more jobs.
    pub quiet: bool,
    /// The handlers that are running.
    pub jobs: Vec<RunningJob>,
    /// What it has done since it started.
    pub counters: RunSummary,
}

/// What a worker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WorkerState {
    /// It waits for work.
    Idle,
    /// It runs jobs.
    Running,
    /// It takes no more work and finishes what it has.
    Draining,
    /// It has ended.
    Stopped,
}

/// A running handler.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunningJob {
    /// The job.
    pub id: JobId,
    /// Its kind.
    pub kind: Kind,
    /// Its queue.
    pub queue: QueueName,
    /// Which attempt this is, 1 for the first.
    pub attempt: u32,
    /// Time since the handler was started.
    pub running_for: Duration,
    /// The run was given up, and the handler keeps running.
    pub stuck: bool,
}

pub(crate) fn snapshot(shared: &Shared) -> WorkerSnapshot {
    let stopped = shared.is_stopped();
    let runs = shared.registry.lock();
    let jobs: Vec<_> = runs
        .iter()
        .filter(|entry| !stopped && !entry.returned)
        .map(|entry| RunningJob {
            id: entry.run.lease.id(),
            kind: entry.run.lease.kind.clone(),
            queue: entry.run.lease.token.queue.clone(),
            attempt: entry.run.lease.attempt,
            running_for: entry.run.running_for(),
            stuck: entry.run.has(Flag::Stuck),
        })
        .collect();
    // The main loop and the heartbeat wait for this lock.
    drop(runs);
    let state = match shared.phase() {
        _ if stopped => WorkerState::Stopped,
        Phase::Draining { .. } | Phase::Forced => WorkerState::Draining,
        Phase::Serving if jobs.is_empty() => WorkerState::Idle,
        Phase::Serving => WorkerState::Running,
    };
    WorkerSnapshot {
        id: shared.id().clone(),
        name: shared.settings.name.clone(),
        state,
        slots: shared.ordered.slots(),
        quiet: shared.ordered.is_quiet(),
        jobs,
        counters: shared.counters.read(),
    }
}
