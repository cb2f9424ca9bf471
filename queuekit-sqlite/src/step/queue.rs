//! A queue's row: its settings, and its counters for the length of a step.

use queuekit_core::queue::{Ends, Keep, KeyOnDead, KeyOnWait, Order, QueueSettings, Totals};
use queuekit_core::{QueueName, State, Timestamp};
use rusqlite::Row;
use serde::{Deserialize, Serialize};

use crate::column_names::columns;
use crate::row::{PLAIN, unsigned};

#[derive(Clone, Debug)]
pub(crate) struct QueueRow {
    pub(crate) id: i64,
    pub(crate) name: QueueName,
    pub(crate) settings: QueueSettings,
    /// Its jobs and keys are being placed anew.
    pub(crate) moving: Option<Moving>,
    /// Jobs by state, in the order of `State::ALL`.
    pub(crate) counts: [i64; State::ALL.len()],
    /// Bytes of payloads and results, in the same order; of ended jobs only.
    pub(crate) sizes: [i64; State::ALL.len()],
    pub(crate) last_seq: i64,
    pub(crate) last_end_seq: i64,
    pub(crate) last_turn: i64,
    pub(crate) corrupt: i64,
    /// How many jobs have completed, died and been cancelled since the queue was created.
    pub(crate) total_completed: i64,
    pub(crate) total_dead: i64,
    pub(crate) total_cancelled: i64,
    /// How many attempts have failed, and how many jobs are no longer stored, likewise.
    pub(crate) total_failed: i64,
    pub(crate) total_removed: i64,
    pub(crate) ends: Ends,
    pub(crate) ends_changed: bool,
    /// Whether the counters differ from the stored ones.
    pub(crate) changed: bool,
}

/// What is placed next where jobs and keys are placed anew. Each value is behind the last one that
/// was placed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Moving {
    /// Ready jobs, as a change of the order marks or unmarks those without a key: rank, time,
    /// sequence.
    Ready(i64, i64, i64),
    /// Jobs behind the heads of their keys, which are marked as due where they are passed: key,
    /// sequence.
    Waiting(String, i64),
    /// Keys.
    Keys(String),
}

columns! {
    pub(crate) struct QueueColumns {
        id, name, settings, moving, pending, running, completed, dead, cancelled, completed_size,
        dead_size, cancelled_size, last_seq, last_end_seq, last_turn, corrupt, last_ended,
        total_completed, total_dead, total_cancelled, total_failed, total_removed,
    }
}

impl QueueRow {
    pub(crate) fn read(row: &Row<'_>, at: &QueueColumns) -> rusqlite::Result<Option<Self>> {
        let name: String = row.get(at.name)?;
        // Only this crate writes here: an invalid name belongs to no job.
        let Ok(name) = QueueName::new(name) else {
            return Ok(None);
        };
        let moving: Option<String> = row.get(at.moving)?;
        let count = |at: usize| row.get::<_, i64>(at);
        let (pending, running) = (count(at.pending)?, count(at.running)?);
        let (completed, dead) = (count(at.completed)?, count(at.dead)?);
        let (completed_size, dead_size) = (count(at.completed_size)?, count(at.dead_size)?);
        Ok(Some(Self {
            id: row.get(at.id)?,
            name,
            settings: QueueSettings::from_json(row.get_ref(at.settings)?.as_bytes()?),
            // One that cannot be read begins again.
            moving: moving.map(|text| serde_json::from_str(&text).unwrap_or_default()),
            counts: [pending, running, completed, dead, count(at.cancelled)?],
            sizes: [0, 0, completed_size, dead_size, count(at.cancelled_size)?],
            last_seq: count(at.last_seq)?,
            last_end_seq: count(at.last_end_seq)?,
            last_turn: count(at.last_turn)?,
            corrupt: count(at.corrupt)?,
            ends: Ends::from_bytes(row.get_ref(at.last_ended)?.as_blob()?),
            total_completed: count(at.total_completed)?,
            total_dead: count(at.total_dead)?,
            total_cancelled: count(at.total_cancelled)?,
            total_failed: count(at.total_failed)?,
            total_removed: count(at.total_removed)?,
            ends_changed: false,
            changed: false,
        }))
    }

    pub(crate) fn count(&self, state: State) -> u64 {
        unsigned(self.counts[state as usize])
    }

    pub(crate) fn totals(&self) -> Totals {
        let (dead, cancelled) = (unsigned(self.total_dead), unsigned(self.total_cancelled));
        let ends =
            Totals::of_ends(unsigned(self.total_completed) + dead + cancelled, dead, cancelled);
        let enqueued = self.counts.iter().sum::<i64>() + self.total_removed;
        Totals { enqueued: unsigned(enqueued), failed: unsigned(self.total_failed), ..ends }
    }

    pub(crate) fn is_fair(&self) -> bool {
        self.settings.order == Order::Fair
    }

    pub(crate) fn skips(&self) -> bool {
        self.settings.key_on_wait == KeyOnWait::Skip
    }

    pub(crate) fn holds(&self) -> bool {
        self.settings.key_on_dead == KeyOnDead::Hold
    }

    pub(crate) fn next_seq(&mut self) -> i64 {
        self.changed = true;
        self.last_seq += 1;
        self.last_seq
    }

    /// Counts a job of this size that leaves a state (`by` -1) or enters it (+1).
    pub(crate) fn count_job(&mut self, state: State, size: i64, by: i64) {
        self.changed = true;
        self.counts[state as usize] += by;
        if state.is_terminal() {
            self.sizes[state as usize] += by * size;
        }
    }

    /// Counts jobs that have completed. Returns the last of their places among the ended jobs, of
    /// which they take this many.
    pub(crate) fn add_completed(&mut self, jobs: usize, places: i64) -> i64 {
        self.changed = true;
        (0..jobs).for_each(|_| self.ends.push(false));
        self.ends_changed = true;
        self.total_completed += jobs as i64;
        self.last_end_seq += places;
        self.last_end_seq
    }

    /// Counts a job that died or was cancelled. Returns its place among the ended jobs.
    pub(crate) fn add_end(&mut self, state: State) -> i64 {
        self.changed = true;
        self.ends.push(state == State::Dead);
        self.ends_changed = true;
        self.total_dead += i64::from(state == State::Dead);
        self.total_cancelled += i64::from(state == State::Cancelled);
        self.last_end_seq += 1;
        self.last_end_seq
    }

    /// Whether the job with the oldest end of these states, which share a bound, is beyond
    /// retention.
    pub(crate) fn is_beyond(
        &self,
        states: &[State],
        keep: &Keep,
        ended_at: Timestamp,
        now: Timestamp,
    ) -> bool {
        let sum = |of: &[i64; State::ALL.len()]| {
            unsigned(states.iter().map(|state| of[*state as usize]).sum())
        };
        keep.lets_go(now.since(ended_at), sum(&self.counts), sum(&self.sizes))
    }
}

impl Default for Moving {
    fn default() -> Self {
        Self::Ready(-1, 0, 0)
    }
}

impl Moving {
    pub(super) fn waiting() -> Self {
        Self::Waiting(PLAIN.to_owned(), 0)
    }

    pub(super) fn keys() -> Self {
        Self::Keys(PLAIN.to_owned())
    }

    /// Where to begin after a change of the settings. A change in the middle of another one begins
    /// with everything.
    pub(super) fn after(was: &QueueSettings, is: &QueueSettings, moves: bool) -> Self {
        match () {
            () if moves || was.order != is.order => Self::default(),
            () if was.key_on_wait != is.key_on_wait => Self::waiting(),
            () => Self::keys(),
        }
    }
}
