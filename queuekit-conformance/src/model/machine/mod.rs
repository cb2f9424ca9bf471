//! The plain state machine: contract R1 to R7, R14 and R15 over one list of jobs, one log of events
//! and a few schedules.

mod admin;
mod enqueue;
mod events;
mod job;
mod reserve;
mod schedules;
mod settle;

use std::collections::BTreeMap;

use queuekit_core::lifecycle::Transition;
use queuekit_core::queue::{KeyOnDead, Totals};
use queuekit_core::{
    GroupKey, IdempotencyKey, JobId, Kind, LeaseToken, PartitionKey, QueueName, QueueSettings,
    ScheduleName, State, Timestamp,
};

use super::Coverage;
pub(super) use events::{Events, ModelEvent, Owed};
pub(super) use job::{Delivered, ModelJob};
pub(super) use schedules::{ModelSchedule, Round};

/// Everything a store is expected to hold. Time is milliseconds of the store's clock.
#[derive(Debug, Default)]
pub(super) struct Machine {
    pub(super) now: i64,
    pub(super) jobs: Vec<ModelJob>,
    pub(super) queues: BTreeMap<QueueName, QueueSettings>,
    /// What has happened in a queue, jobs that are gone included.
    pub(super) totals: BTreeMap<QueueName, Totals>,
    /// Failures and deaths, by queue and group.
    pub(super) errors: BTreeMap<(QueueName, GroupKey), (u64, u64)>,
    pub(super) events: Events,
    pub(super) schedules: BTreeMap<ScheduleName, ModelSchedule>,
    pub(super) coverage: Coverage,
    keys: BTreeMap<(QueueName, IdempotencyKey), KeyHold>,
    counter: u64,
}

#[derive(Debug)]
struct KeyHold {
    job: JobId,
    free_at: Option<i64>,
}

impl Machine {
    pub(super) fn job(&self, id: JobId) -> Option<&ModelJob> {
        self.jobs.iter().find(|job| job.id == id)
    }

    /// The job whose lease this is, if it holds (R3.2).
    fn held(&self, lease: &LeaseToken) -> Option<usize> {
        let at = self.position(lease.id)?;
        let job = &self.jobs[at];
        (job.state == State::Running && job.token.as_ref() == Some(lease)).then_some(at)
    }

    fn position(&self, id: JobId) -> Option<usize> {
        self.jobs.iter().position(|job| job.id == id)
    }

    fn count_up(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    /// As they are in force now.
    pub(super) fn settings(&self, queue: &QueueName) -> QueueSettings {
        self.queues.get(queue).cloned().unwrap_or_default().at(self.time())
    }

    pub(super) fn time(&self) -> Timestamp {
        Timestamp::from_millis(self.now)
    }

    /// Ends a job: its key becomes free by its rule, and under `hold` a dead head keeps its
    /// partition key.
    fn end(&mut self, at: usize, transition: Transition) {
        self.coverage.took(transition);
        let now = self.now;
        let state = transition.to().expect("an end has a state");
        let settings = self.settings(&self.jobs[at].queue);
        let totals = self.totals.entry(self.jobs[at].queue.clone()).or_default();
        match state {
            State::Dead => {
                totals.dead += 1;
                let reason = self.jobs[at].reason.clone().unwrap_or_default();
                self.errors_like(at, &reason).1 += 1;
            }
            State::Cancelled => totals.cancelled += 1,
            _ => totals.completed += 1,
        }
        let head = self.is_head(at);
        let job = &mut self.jobs[at];
        job.state = state;
        job.finished = Some(now);
        job.holds_key = state == State::Dead && head && settings.key_on_dead == KeyOnDead::Hold;
        if let Some(key) = &job.idempotency_key {
            let scoped = (job.queue.clone(), key.clone());
            let window = i64::try_from(settings.dedup_window.as_millis()).expect("short");
            if self.keys.get(&scoped).is_some_and(|hold| hold.job == job.id) {
                if job.unique_until_done {
                    self.keys.remove(&scoped);
                } else {
                    let free_at = Some(now + window);
                    self.keys.insert(scoped, KeyHold { job: job.id, free_at });
                }
            }
        }
    }

    /// Stores a new job.
    fn store(&mut self, job: ModelJob) {
        self.totals.entry(job.queue.clone()).or_default().enqueued += 1;
        self.jobs.push(job);
    }

    /// Adds a failure to the history of a job.
    fn fail(&mut self, at: usize, error: &str) {
        self.jobs[at].errors.push(error.to_owned());
        self.totals.entry(self.jobs[at].queue.clone()).or_default().failed += 1;
        self.errors_like(at, error).0 += 1;
    }

    /// The failures and the deaths of the group of an error of this job.
    fn errors_like(&mut self, at: usize, error: &str) -> &mut (u64, u64) {
        let job = &self.jobs[at];
        let kind = Kind::new(&job.kind).expect("a kind");
        self.errors.entry((job.queue.clone(), GroupKey::of(kind, error))).or_default()
    }

    /// Whether no unfinished job of its key comes before it.
    fn is_head(&self, at: usize) -> bool {
        let job = &self.jobs[at];
        let key = job.partition_key.is_some();
        key && !self.same_key(job).any(|other| !other.state.is_terminal() && other.seq < job.seq)
    }

    fn same_key<'a>(&'a self, job: &'a ModelJob) -> impl Iterator<Item = &'a ModelJob> {
        self.of_key(&job.queue, job.partition_key.as_ref())
    }

    fn of_key<'a>(
        &'a self,
        queue: &'a QueueName,
        key: Option<&'a PartitionKey>,
    ) -> impl Iterator<Item = &'a ModelJob> {
        let jobs = self.jobs.iter();
        jobs.filter(move |job| job.queue == *queue && job.partition_key.as_ref() == key)
    }

    fn key_holder(&self, queue: &QueueName, key: &IdempotencyKey) -> Option<JobId> {
        let hold = self.keys.get(&(queue.clone(), key.clone()))?;
        hold.free_at.is_none_or(|free_at| free_at > self.now).then_some(hold.job)
    }

    /// Removes a job on request: its idempotency key is free at once.
    fn remove(&mut self, at: usize, transition: Transition) {
        self.coverage.took(transition);
        let job = self.jobs.remove(at);
        if let Some(key) = job.idempotency_key {
            let scoped = (job.queue, key);
            if self.keys.get(&scoped).is_some_and(|hold| hold.job == job.id) {
                self.keys.remove(&scoped);
            }
        }
    }
}
