//! Which job holds which idempotency key (contract R2.5).

use std::collections::{BTreeSet, HashMap};

use crate::clock::Timestamp;
use crate::job::JobId;
use crate::names::{IdempotencyKey, QueueName};

/// Idempotency keys. They are stored separately, because a key can outlive its job.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    holds: HashMap<Scoped, Hold>,
    /// Keys that become free by time, soonest first.
    freeing: BTreeSet<(Timestamp, Scoped)>,
}

type Scoped = (QueueName, IdempotencyKey);

#[derive(Clone, Copy, Debug)]
struct Hold {
    job: JobId,
    free_at: Option<Timestamp>,
}

impl Keys {
    /// The job that holds the key now.
    pub(super) fn holder(
        &self,
        queue: &QueueName,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Option<JobId> {
        let hold = self.holds.get(&(queue.clone(), key.clone()))?;
        hold.free_at.is_none_or(|free_at| free_at > now).then_some(hold.job)
    }

    /// The job holds the key until a later call.
    pub(super) fn take(&mut self, queue: &QueueName, key: &IdempotencyKey, job: JobId) {
        self.set(queue, key, Hold { job, free_at: None });
    }

    /// The job has ended, and its key becomes free at this time.
    pub(super) fn free_at(
        &mut self,
        queue: &QueueName,
        key: &IdempotencyKey,
        job: JobId,
        at: Timestamp,
    ) {
        if self.is_held(queue, key, job) {
            self.set(queue, key, Hold { job, free_at: Some(at) });
        }
    }

    /// Frees the key immediately, if the job holds it.
    pub(super) fn free(&mut self, queue: &QueueName, key: &IdempotencyKey, job: JobId) {
        if self.is_held(queue, key, job) {
            self.drop_hold(&(queue.clone(), key.clone()));
        }
    }

    /// Removes at most this number of keys that are free by now. Returns how many it removed.
    pub(super) fn forget(&mut self, now: Timestamp, most: usize) -> usize {
        let due = self.freeing.iter().take_while(|(at, _)| *at <= now).take(most);
        let scoped: Vec<_> = due.map(|(_, scoped)| scoped.clone()).collect();
        scoped.iter().for_each(|scoped| self.drop_hold(scoped));
        scoped.len()
    }

    fn is_held(&self, queue: &QueueName, key: &IdempotencyKey, job: JobId) -> bool {
        self.holds.get(&(queue.clone(), key.clone())).is_some_and(|hold| hold.job == job)
    }

    fn set(&mut self, queue: &QueueName, key: &IdempotencyKey, hold: Hold) {
        let scoped = (queue.clone(), key.clone());
        self.drop_hold(&scoped);
        if let Some(at) = hold.free_at {
            self.freeing.insert((at, scoped.clone()));
        }
        self.holds.insert(scoped, hold);
    }

    fn drop_hold(&mut self, scoped: &Scoped) {
        if let Some(Hold { free_at: Some(at), .. }) = self.holds.remove(scoped) {
            self.freeing.remove(&(at, scoped.clone()));
        }
    }
}
