//! What the file holds, and the one place where a job changes its state.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use queuekit_core::capability::Beat;
use queuekit_core::lifecycle::{Record, Transition};
use queuekit_core::queue::{Ends, KeyOnDead, Totals};
use queuekit_core::{
    ErrorText, IdempotencyKey, JobId, Limits, QueueName, QueueSettings, Result, State, Timestamp,
    WorkerId,
};
use serde::{Deserialize, Serialize};

/// Has no `Debug`: the JSON contains the nonces of leases, and no log may show one (R3.1).
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Data {
    pub seq: u64,
    pub queues: BTreeMap<QueueName, QueueData>,
    pub jobs: BTreeMap<JobId, Record>,
    /// Jobs that died as the head of their partition key under `hold`, and hold the key.
    pub holding: BTreeSet<JobId>,
    /// When the idempotency key of an ended job becomes free (R2.5).
    pub keys_free_at: BTreeMap<JobId, Timestamp>,
    pub workers: BTreeMap<WorkerId, (Beat, Timestamp)>,
    /// The instant of the current call: a call takes effect at one instant.
    #[serde(skip)]
    pub now: Timestamp,
    /// Whether the current call has changed anything, so that the file must be written.
    #[serde(skip)]
    pub changed: bool,
}

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct QueueData {
    pub settings: QueueSettings,
    pub totals: Totals,
    /// Whether each of the last 1,000 ended jobs died.
    pub ends: Vec<u8>,
    /// The turns of a fair queue, by partition key; "" stands for all jobs without one.
    pub turns: BTreeMap<String, Turn>,
    pub turn_served: u64,
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Turn {
    pub at: u64,
    /// Since the key has had a job that can run.
    pub waits: bool,
}

impl Data {
    pub(crate) fn next_seq(&mut self) -> u64 {
        self.changed = true;
        self.seq += 1;
        self.seq
    }

    /// Takes a job through a transition of core's table. `change` sets what the transition changes
    /// in the record. This function changes the keys and the figures of the queue, so that no
    /// operation can forget them (R6.5).
    pub(crate) fn apply(
        &mut self,
        id: JobId,
        transition: Transition,
        change: impl FnOnce(&mut Record),
    ) {
        let (now, seq) = (self.now, self.next_seq());
        let (is_head, held) = (self.is_head(id), self.holding.remove(&id));
        self.keys_free_at.remove(&id);
        let (Some(record), Some(to)) = (self.jobs.get_mut(&id), transition.to()) else {
            self.jobs.remove(&id);
            return;
        };
        let Some(queue) = self.queues.get_mut(&record.queue) else { return };
        change(record);
        record.enter(to, seq, now);
        if transition == Transition::Retry && !held {
            record.seq = seq;
        }
        if to == State::Dead && queue.settings.key_on_dead == KeyOnDead::Hold && is_head {
            self.holding.insert(id);
        }
        if to.is_terminal() {
            let window = queue.settings.dedup_window;
            let window = if record.unique_until_done { Duration::ZERO } else { window };
            self.keys_free_at.insert(id, now + window);
            queue.totals.count(to);
            let mut ends = Ends::from_bytes(&queue.ends);
            ends.push(to == State::Dead);
            queue.ends = ends.to_bytes();
        }
    }

    pub(crate) fn end_dead(&mut self, id: JobId, transition: Transition, reason: ErrorText) {
        self.apply(id, transition, |record| record.die(transition, reason));
    }

    /// The job that holds this idempotency key, if any (R2.5).
    pub(crate) fn key_holder(&self, name: &QueueName, key: &IdempotencyKey) -> Option<JobId> {
        let is_free =
            |id: &JobId| self.keys_free_at.get(id).is_some_and(|free_at| *free_at <= self.now);
        let holds =
            |record: &&Record| record.idempotency_key.as_ref() == Some(key) && !is_free(&record.id);
        self.of_queue(name).find(holds).map(|record| record.id)
    }

    /// Makes sure that every queue of a call exists, or creates none.
    pub(crate) fn open_queues<'a>(
        &mut self,
        names: impl IntoIterator<Item = &'a QueueName>,
        limits: &Limits,
    ) -> Result<()> {
        let is_new = |name: &&QueueName| !self.queues.contains_key(*name);
        let new: BTreeSet<_> = names.into_iter().filter(is_new).collect();
        if let Some(name) = new.last() {
            let existing = self.queues.len() + new.len() - 1;
            limits.admit_queue(existing).map_err(|error| error.on(name))?;
        }
        self.changed |= !new.is_empty();
        self.queues.extend(new.into_iter().map(|name| (name.clone(), QueueData::default())));
        Ok(())
    }

    pub(crate) fn of_queue(&self, name: &QueueName) -> impl Iterator<Item = &Record> {
        self.jobs.values().filter(move |record| record.queue == *name)
    }

    pub(crate) fn live_workers(&self) -> impl Iterator<Item = &Beat> {
        let live = self.workers.values().filter(|(beat, at)| beat.is_listed(*at, self.now));
        live.map(|(beat, _)| beat)
    }

    /// Whether no waiting or running job of its partition key comes before it.
    fn is_head(&self, id: JobId) -> bool {
        let Some(record) = self.jobs.get(&id) else { return false };
        record.partition_key.is_some()
            && !self.of_queue(&record.queue).any(|other| {
                other.partition_key == record.partition_key
                    && !other.state.is_terminal()
                    && other.seq < record.seq
            })
    }
}
