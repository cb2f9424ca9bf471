//! The jobs of one queue, each in the structure of its state.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::partition::{Entry, Partition, Waiting};
use crate::clock::Timestamp;
use crate::job::{JobId, Priority, State};
use crate::lifecycle::Record;
use crate::limits::HEALTH_WINDOW;
use crate::names::PartitionKey;
use crate::queue::{Order, QueueSettings, Totals};

type ByTime = BTreeMap<(Timestamp, u64), JobId>;

#[derive(Clone, Debug, Default)]
pub(super) struct QueueTable {
    pub(super) settings: QueueSettings,
    /// Pending jobs by priority, then time and sequence: all without a key, and in a strict
    /// queue the next one of each key.
    pub(super) levels: [ByTime; Priority::LEVELS],
    /// All pending jobs with a key in serving order, for listings.
    pub(super) keyed: BTreeMap<(u8, Timestamp, u64), (JobId, PartitionKey)>,
    pub(super) partitions: BTreeMap<PartitionKey, Partition>,
    /// The turns of a fair queue.
    pub(super) fair: Fair,
    /// Running jobs by the end of their lease.
    pub(super) leased: ByTime,
    pub(super) completed: ByTime,
    pub(super) dead: ByTime,
    pub(super) cancelled: ByTime,
    /// Jobs by state, in the order of `State::ALL`.
    pub(super) counts: [u64; State::ALL.len()],
    /// Bytes of payloads and results, likewise.
    pub(super) bytes: [u64; State::ALL.len()],
    /// Since the queue was created, without what was enqueued.
    totals: Totals,
    /// Jobs that are no longer stored.
    removed: u64,
    /// The totals in the history.
    pub(super) recorded: Totals,
    pub(super) corrupt: u64,
    /// Whether each of the last ended jobs died.
    pub(super) last_ended: VecDeque<bool>,
    pub(super) last_dead: usize,
}

/// The turns of a fair queue. Jobs without a key share one turn, that of `None`.
#[derive(Clone, Debug, Default)]
pub(super) struct Fair {
    /// The turn served last.
    clock: u64,
    turns: BTreeSet<(u64, Option<PartitionKey>)>,
    /// When to check a key again; in strict queues, only keys that have an alarm.
    later: BTreeSet<(Timestamp, Option<PartitionKey>)>,
    plain: Plain,
}

/// The place of the jobs without a key, as of one partition.
#[derive(Clone, Debug, Default)]
struct Plain {
    by_seq: BTreeMap<u64, JobId>,
    entry: Option<Entry>,
    turn: u64,
}

impl QueueTable {
    /// Takes a job out of the structures of its state; `refresh` must follow for its key.
    pub(super) fn leave(&mut self, record: &Record) {
        self.counts[record.state as usize] -= 1;
        self.bytes[record.state as usize] -= record.bytes();
        let key = record.partition_key.as_ref();
        match (record.state, key) {
            (State::Pending, None) => {
                let level = usize::from(record.priority.level());
                self.levels[level].remove(&(record.scheduled_at, record.seq));
                self.fair.plain.by_seq.remove(&record.seq);
            }
            (State::Pending, Some(_)) => {
                self.keyed.remove(&record.serving_place());
            }
            (State::Running, _) => {
                self.leased.remove(&(record.lease_expires_at, record.seq));
            }
            (ended, _) => {
                self.ended(ended).remove(&(record.finished_at.unwrap_or_default(), record.end_seq));
            }
        }
        if let Some(partition) = key.and_then(|key| self.partitions.get_mut(key)) {
            match record.state {
                State::Pending => partition.remove_waiting(record.seq),
                State::Running => partition.remove_running(record.seq),
                State::Dead => partition.remove_dead(record.seq),
                State::Completed | State::Cancelled => {}
            }
        }
    }

    /// Puts a job into the structures of its state; `refresh` must follow for its key.
    pub(super) fn enter(&mut self, record: &Record, now: Timestamp) {
        self.counts[record.state as usize] += 1;
        self.bytes[record.state as usize] += record.bytes();
        if record.state.is_terminal() {
            self.ended(record.state)
                .insert((record.finished_at.unwrap_or_default(), record.end_seq), record.id);
            self.remember_end(record.state);
        } else if record.state == State::Running {
            self.leased.insert((record.lease_expires_at, record.seq), record.id);
        }
        match (&record.partition_key, record.state) {
            (Some(key), state) => {
                let settings = &self.settings;
                let partition = self.partitions.entry(key.clone()).or_default();
                match state {
                    State::Pending => {
                        partition.add_waiting(Waiting::of(record), now);
                        self.keyed.insert(record.serving_place(), (record.id, key.clone()));
                    }
                    State::Running => partition.add_running(record.seq, record.id),
                    State::Dead => partition.add_dead(record.seq, record.id, settings),
                    State::Completed | State::Cancelled => {}
                }
            }
            (None, State::Pending) => {
                let level = usize::from(record.priority.level());
                self.levels[level].insert((record.scheduled_at, record.seq), record.id);
                if self.settings.order == Order::Fair {
                    self.fair.plain.by_seq.insert(record.seq, record.id);
                }
            }
            (None, _) => {}
        }
    }

    /// Puts a key where its next job is served; `None` is the jobs without a key.
    pub(super) fn refresh(&mut self, key: Option<&PartitionKey>, now: Timestamp) {
        match (key, self.settings.order) {
            (None, Order::Strict) => {}
            (None, Order::Fair) => self.refresh_plain(now),
            (Some(key), order) => {
                let Some(partition) = self.partitions.get_mut(key) else {
                    return;
                };
                let level = |waiting: &Waiting| usize::from(waiting.level);
                let alarm = partition.alarm.take().map(Entry::Later);
                for entry in partition.entry.take().into_iter().chain(alarm) {
                    match entry {
                        Entry::Level(old) => {
                            self.levels[level(&old)].remove(&(old.scheduled_at, old.seq));
                        }
                        entry => self.fair.remove(entry, Some(key)),
                    }
                }
                if let Some(next) = partition.next(&self.settings, now) {
                    partition.entry = Some(if order == Order::Strict {
                        partition.alarm = partition.next_alarm(&self.settings);
                        self.fair.later.extend(partition.alarm.map(|at| (at, Some(key.clone()))));
                        let place = (next.scheduled_at, next.seq);
                        self.levels[level(&next)].insert(place, next.id);
                        Entry::Level(next)
                    } else {
                        self.fair.insert(&mut partition.turn, Some(key), next.scheduled_at, now)
                    });
                }
                if partition.is_empty() {
                    self.partitions.remove(key);
                }
            }
        }
    }

    /// The next job to lease, if one is ready now.
    pub(super) fn candidate(&mut self, now: Timestamp) -> Option<JobId> {
        while let Some((_, key)) = self.fair.later.first().filter(|(at, _)| *at <= now).cloned() {
            self.refresh(key.as_ref(), now);
        }
        match self.settings.order {
            Order::Strict => self.first_due(now),
            Order::Fair => self.fair_candidate(now),
        }
    }

    /// When the next job becomes ready or the next lease expires.
    pub(super) fn next_event(&self) -> Option<Timestamp> {
        let levels = self.levels.iter().filter_map(|level| level.first_key_value());
        let level = levels.map(|((at, _), _)| *at).min();
        let lease = self.leased.first_key_value().map(|((at, _), _)| *at);
        // A key that has a turn can be served now.
        let turn = (!self.fair.turns.is_empty()).then_some(Timestamp::from_millis(i64::MIN));
        let later = self.fair.later.first().map(|(at, _)| *at);
        [level, lease, turn, later].into_iter().flatten().min()
    }

    /// Records that a job of this key was leased: its next turn comes after those of all others.
    pub(super) fn served(&mut self, key: Option<&PartitionKey>) {
        let turn = match key {
            None => &mut self.fair.plain.turn,
            Some(key) => match self.partitions.get_mut(key) {
                Some(partition) => &mut partition.turn,
                None => return,
            },
        };
        self.fair.clock = self.fair.clock.max(*turn);
        *turn = self.fair.clock + 1;
    }

    pub(super) fn is_paused(&self, now: Timestamp) -> bool {
        self.settings.is_paused(now)
    }

    /// Rebuilds the serving structures after a change of settings.
    pub(super) fn change_settings(&mut self, settings: QueueSettings, now: Timestamp) {
        let keys: Vec<_> = self.partitions.keys().cloned().collect();
        let unchanged_order = settings.order == self.settings.order;
        if !unchanged_order {
            // Without a lease to grant, `refresh` only takes each key out of the structures of the
            // old order.
            self.settings.per_key = 0;
            keys.iter().for_each(|key| self.refresh(Some(key), now));
            if let Some(entry) = self.fair.plain.entry.take() {
                self.fair.remove(entry, None);
            }
            self.fair.plain.by_seq.clear();
        }
        self.settings = settings;
        if self.settings.order == Order::Fair && !unchanged_order {
            let plain = self.levels.iter().flatten().map(|((_, seq), id)| (*seq, *id));
            self.fair.plain.by_seq = plain.collect();
        }
        keys.iter().for_each(|key| self.refresh(Some(key), now));
        self.refresh(None, now);
    }

    pub(super) fn plain_by_seq(&self) -> &BTreeMap<u64, JobId> {
        &self.fair.plain.by_seq
    }

    pub(super) fn ended(&mut self, state: State) -> &mut ByTime {
        match state {
            State::Dead => &mut self.dead,
            State::Cancelled => &mut self.cancelled,
            State::Pending | State::Running | State::Completed => &mut self.completed,
        }
    }

    pub(super) fn count(&self, state: State) -> u64 {
        self.counts[state as usize]
    }

    /// What was enqueued is what is stored and what was removed, so that no enqueue counts it.
    pub(super) fn totals(&self) -> Totals {
        let enqueued = self.counts.iter().sum::<u64>() + self.removed;
        Totals { enqueued, ..self.totals }
    }

    /// A job of this queue is no longer stored.
    pub(super) fn removed(&mut self) {
        self.removed += 1;
    }

    /// An attempt of a job of this queue has failed.
    pub(super) fn failed(&mut self) {
        self.totals.failed += 1;
    }

    fn first_due(&self, now: Timestamp) -> Option<JobId> {
        self.levels.iter().rev().find_map(|level| {
            let ((at, _), id) = level.first_key_value()?;
            (*at <= now).then_some(*id)
        })
    }

    fn fair_candidate(&mut self, now: Timestamp) -> Option<JobId> {
        while let Some((_, key)) = self.fair.turns.first().cloned() {
            let Some(key) = key else {
                match self.first_due(now) {
                    Some(id) => return Some(id),
                    None => self.refresh(None, now),
                }
                continue;
            };
            let next = self.partitions.get_mut(&key)?.next(&self.settings, now);
            match next.filter(|next| next.scheduled_at <= now) {
                Some(next) => return Some(next.id),
                None => self.refresh(Some(&key), now),
            }
        }
        None
    }

    fn refresh_plain(&mut self, now: Timestamp) {
        if let Some(entry) = self.fair.plain.entry.take() {
            self.fair.remove(entry, None);
        }
        // One job that is due is enough for a turn; which job gets it is decided by priority.
        let due = self.first_due(now).map(|_| now);
        let first = |level: &ByTime| level.first_key_value().map(|((at, _), _)| *at);
        let Some(at) = due.or_else(|| self.levels.iter().filter_map(first).min()) else {
            return;
        };
        let mut turn = self.fair.plain.turn;
        let entry = self.fair.insert(&mut turn, None, at, now);
        self.fair.plain.turn = turn;
        self.fair.plain.entry = Some(entry);
    }

    fn remember_end(&mut self, state: State) {
        self.totals.count(state);
        let died = state == State::Dead;
        self.last_dead += usize::from(died);
        self.last_ended.push_back(died);
        if self.last_ended.len() > HEALTH_WINDOW && self.last_ended.pop_front() == Some(true) {
            self.last_dead -= 1;
        }
    }
}

impl Fair {
    fn insert(
        &mut self,
        turn: &mut u64,
        key: Option<&PartitionKey>,
        at: Timestamp,
        now: Timestamp,
    ) -> Entry {
        if at > now {
            self.later.insert((at, key.cloned()));
            return Entry::Later(at);
        }
        // A new key joins the next round; a key that was idle for long does not catch up.
        *turn = if *turn == 0 { self.clock + 1 } else { (*turn).max(self.clock) };
        self.turns.insert((*turn, key.cloned()));
        Entry::Turn(*turn)
    }

    fn remove(&mut self, entry: Entry, key: Option<&PartitionKey>) {
        match entry {
            Entry::Turn(turn) => self.turns.remove(&(turn, key.cloned())),
            Entry::Later(at) => self.later.remove(&(at, key.cloned())),
            Entry::Level(_) => false,
        };
    }
}
