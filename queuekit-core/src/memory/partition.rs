//! The jobs of one partition key (contract R7.3).

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Timestamp;
use crate::job::JobId;
use crate::lifecycle::Record;
use crate::queue::{KeyOnDead, KeyOnWait, QueueSettings};

/// Jobs that share a key, by sequence. At most one of them is in the queue's serving structures:
/// the one that may be leased next.
#[derive(Clone, Debug, Default)]
pub(super) struct Partition {
    waiting: BTreeMap<u64, Waiting>,
    /// Waiting jobs that were due at the last check.
    due: BTreeSet<u64>,
    /// The other waiting jobs, by time.
    later: BTreeSet<(Timestamp, u64)>,
    running: BTreeMap<u64, JobId>,
    /// Heads that died under `hold`.
    held_by: BTreeMap<u64, JobId>,
    /// The place of the key in the queue's serving structures.
    pub(super) entry: Option<Entry>,
    /// Strict, under `skip`: when the time of the next job comes, which may then go before the
    /// one at `entry`.
    pub(super) alarm: Option<Timestamp>,
    /// The turn in which a fair queue serves it next.
    pub(super) turn: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) id: JobId,
    pub(super) level: u8,
    pub(super) scheduled_at: Timestamp,
    pub(super) seq: u64,
}

/// A place in a queue's serving structures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Strict: among the jobs of a priority.
    Level(Waiting),
    /// Fair: can be served in this turn.
    Turn(u64),
    /// Fair: cannot be served before this time.
    Later(Timestamp),
}

impl Waiting {
    pub(super) fn of(record: &Record) -> Self {
        Self {
            id: record.id,
            level: record.priority.level(),
            scheduled_at: record.scheduled_at,
            seq: record.seq,
        }
    }
}

impl Partition {
    pub(super) fn add_waiting(&mut self, waiting: Waiting, now: Timestamp) {
        self.waiting.insert(waiting.seq, waiting);
        if waiting.scheduled_at <= now {
            self.due.insert(waiting.seq);
        } else {
            self.later.insert((waiting.scheduled_at, waiting.seq));
        }
    }

    pub(super) fn remove_waiting(&mut self, seq: u64) {
        if let Some(waiting) = self.waiting.remove(&seq) {
            self.due.remove(&seq);
            self.later.remove(&(waiting.scheduled_at, seq));
        }
    }

    pub(super) fn add_running(&mut self, seq: u64, id: JobId) {
        self.running.insert(seq, id);
    }

    pub(super) fn remove_running(&mut self, seq: u64) {
        self.running.remove(&seq);
    }

    /// Records that a job of the key died: under `hold` it holds the key if it was the head.
    pub(super) fn add_dead(&mut self, seq: u64, id: JobId, settings: &QueueSettings) {
        let first_waiting = self.waiting.first_key_value().map(|(seq, _)| *seq);
        let first_running = self.running.first_key_value().map(|(seq, _)| *seq);
        let before = |other: Option<u64>| other.is_some_and(|other| other < seq);
        // Only the head holds its key. A job ahead of this one still has its own turn, and would
        // wait for a job behind it.
        let head = !before(first_waiting) && !before(first_running);
        if settings.key_on_dead == KeyOnDead::Hold && head {
            self.held_by.insert(seq, id);
        }
    }

    pub(super) fn remove_dead(&mut self, seq: u64) {
        self.held_by.remove(&seq);
    }

    pub(super) fn holds(&self, seq: u64) -> bool {
        self.held_by.contains_key(&seq)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty() && self.held_by.is_empty()
    }

    /// The job to lease next, now or at its time; none while the key lets no lease start.
    pub(super) fn next(&mut self, settings: &QueueSettings, now: Timestamp) -> Option<Waiting> {
        if settings.free_leases(!self.held_by.is_empty(), self.running.len()) == 0 {
            return None;
        }
        match settings.key_on_wait {
            KeyOnWait::Block => self.waiting.first_key_value().map(|(_, waiting)| *waiting),
            KeyOnWait::Skip => {
                self.look(now);
                // If none is due, the next to be due, so that the queue knows when to look at the
                // key again.
                let later = || self.later.first().map(|(_, seq)| *seq);
                let seq = self.due.first().copied().or_else(later)?;
                self.waiting.get(&seq).copied()
            }
        }
    }

    /// Under `skip`, when to look again which job is next.
    pub(super) fn next_alarm(&self, settings: &QueueSettings) -> Option<Timestamp> {
        let later = self.later.first().filter(|_| settings.key_on_wait == KeyOnWait::Skip);
        later.map(|(at, _)| *at)
    }

    /// Whether its next job is among those of a priority, and its time has come.
    pub(super) fn is_next_by(&self, now: Timestamp) -> bool {
        matches!(&self.entry, Some(Entry::Level(next)) if next.scheduled_at <= now)
    }

    /// The last sequence that is not blocked: the unblocked jobs are always the first few. None
    /// if all are blocked.
    pub(super) fn frontier(&self, settings: &QueueSettings, now: Timestamp) -> Option<u64> {
        let due = self.waiting.values().map(|waiting| waiting.scheduled_at <= now);
        let unblocked = settings.unblocked(!self.held_by.is_empty(), self.running.len(), due);
        self.waiting.keys().nth(unblocked.checked_sub(1)?).copied()
    }

    pub(super) fn waiting(&self) -> &BTreeMap<u64, Waiting> {
        &self.waiting
    }

    /// The job that a blocked one waits for.
    pub(super) fn blocker(&self) -> Option<JobId> {
        let held = self.held_by.values().next().copied();
        let running = self.running.values().next().copied();
        held.or(running).or_else(|| self.waiting.values().next().map(|waiting| waiting.id))
    }

    /// Sorts the waiting jobs by whether their time has come. Each moves once, unless the clock
    /// jumps back.
    fn look(&mut self, now: Timestamp) {
        while let Some(&(at, seq)) = self.later.first().filter(|(at, _)| *at <= now) {
            self.later.remove(&(at, seq));
            self.due.insert(seq);
        }
        while let Some(&seq) = self.due.first() {
            match self.waiting.get(&seq) {
                Some(waiting) if waiting.scheduled_at > now => {
                    self.later.insert((waiting.scheduled_at, seq));
                    self.due.remove(&seq);
                }
                _ => break,
            }
        }
    }
}
