//! The one place where a stored job changes its state.

use std::collections::BTreeSet;

use super::queue::QueueTable;
use super::tables::Tables;
use crate::error::Result;
use crate::job::{ErrorText, JobId, State};
use crate::lifecycle::{LEASE_EXPIRED, Record, Transition};
use crate::names::QueueName;
use crate::store_limits::Limits;

impl Tables {
    /// Takes a job through a transition: its record, its place in the queue, its keys and the
    /// counters change together. `change` sets what the transition changes in the record. None if
    /// the job is not stored.
    pub(super) fn apply<T>(
        &mut self,
        id: JobId,
        transition: Transition,
        change: impl FnOnce(&mut Record) -> T,
    ) -> Option<T> {
        let now = self.now;
        let fresh_seq = self.seq + 1;
        let record = self.jobs.get_mut(&id)?;
        let queue = self.queues.get_mut(&record.queue)?;
        debug_assert!(transition.from().contains(&record.state), "{transition:?} of {record:?}");
        // Asked before the job leaves: its place as the dead head of its key is forgotten then.
        let held = |key| queue.partitions.get(key).is_some_and(|keyed| keyed.holds(record.seq));
        let keeps_place = record.partition_key.as_ref().is_some_and(held);

        queue.leave(record);
        if transition == Transition::Reserve {
            queue.served(record.partition_key.as_ref());
        }
        let changed = change(record);
        if transition == Transition::Retry && !keeps_place {
            record.seq = fresh_seq;
            self.seq = fresh_seq;
        }
        let was = record.state;
        if let Some(state) = transition.to() {
            record.enter(state, fresh_seq, now);
            if state.is_terminal() {
                self.seq = fresh_seq;
            }
            queue.enter(record, now);
        } else {
            queue.removed();
        }
        queue.refresh(record.partition_key.as_ref(), now);
        // A job that stays in its state, such as one whose lease is extended, frees nothing.
        let lets_go = record.partition_key.is_some() && transition.to() != Some(was);
        if transition.to() == Some(State::Pending) || lets_go {
            self.stirred.insert(record.queue.clone());
        }
        if record.idempotency_key.is_some() {
            self.settle_key(id, was, transition);
        }
        if transition.to().is_none() {
            self.jobs.remove(&id);
        }
        Some(changed)
    }

    /// Stores a new job.
    pub(super) fn add(&mut self, record: Record) {
        if let Some(queue) = self.queues.get_mut(&record.queue) {
            queue.enter(&record, self.now);
            queue.refresh(record.partition_key.as_ref(), self.now);
        }
        if let Some(key) = &record.idempotency_key {
            self.keys.take(&record.queue, key, record.id);
        }
        if !self.stirred.contains(&record.queue) {
            self.stirred.insert(record.queue.clone());
        }
        self.jobs.insert(record.id, Box::new(record));
    }

    /// Dead-letters a job.
    pub(super) fn end_dead(&mut self, id: JobId, transition: Transition, reason: ErrorText) {
        self.apply(id, transition, |record| record.die(transition, reason.clone()));
        self.count_error(id, transition, false, &reason);
    }

    /// Takes a lease back as if it had expired. Returns what happened to the job.
    pub(super) fn expire(&mut self, id: JobId) -> Option<Transition> {
        let now = self.now;
        let record = self.jobs.get(&id).filter(|record| record.state == State::Running)?;
        let transition = record.on_expiry();
        self.apply(id, transition, |record| record.expire(transition, now));
        self.count_error(id, transition, true, &ErrorText::from(LEASE_EXPIRED));
        Some(transition)
    }

    /// Applies the transition to the job's idempotency key (contract R2.5).
    fn settle_key(&mut self, id: JobId, was: State, transition: Transition) {
        let Some(record) = self.jobs.get(&id) else {
            return;
        };
        let Some(key) = &record.idempotency_key else {
            return;
        };
        let queue = &record.queue;
        match (transition, transition.to()) {
            (Transition::Retry, _) => self.keys.take(queue, key, id),
            (Transition::Delete | Transition::DeleteForced, _) => self.keys.free(queue, key, id),
            (_, Some(state)) if state.is_terminal() && !was.is_terminal() => {
                let table = self.queues.get(queue);
                let window = table.map(|table| table.settings.dedup_window).unwrap_or_default();
                if record.unique_until_done {
                    self.keys.free(queue, key, id);
                } else {
                    self.keys.free_at(queue, key, id, self.now + window);
                }
            }
            _ => {}
        }
    }

    /// Makes sure that every queue of a call exists, or creates none.
    pub(super) fn open_queues<'a>(
        &mut self,
        names: impl Iterator<Item = &'a QueueName>,
        limits: &Limits,
    ) -> Result<()> {
        let unknown: BTreeSet<_> = names.filter(|name| !self.queues.contains_key(*name)).collect();
        if let Some(name) = unknown.last() {
            // Checked before the first is created, so that the call creates all of them or none.
            let existing = self.queues.len() + unknown.len() - 1;
            limits.admit_queue(existing).map_err(|error| error.on(name))?;
        }
        for name in unknown {
            self.queues.insert(name.clone(), QueueTable::default());
        }
        Ok(())
    }
}
