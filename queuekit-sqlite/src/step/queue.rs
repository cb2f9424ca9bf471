//! A queue's row: its settings, and its counters for the length of a step.

use std::time::Duration;

use queuekit_core::queue::{
    Ends, Keep, KeyOnDead, KeyOnWait, Order, QueueSettings, Retention, Totals,
};
use queuekit_core::{QueueName, State, Timestamp};
use rusqlite::{Row, ToSql};

use crate::row::{millis, unsigned};

#[derive(Clone, Debug)]
pub(crate) struct QueueRow {
    pub(crate) id: i64,
    pub(crate) name: QueueName,
    pub(crate) settings: QueueSettings,
    /// Jobs by state, in the order of `State::ALL`.
    pub(crate) counts: [i64; State::ALL.len()],
    /// Bytes of payloads and results, likewise; of ended jobs only.
    pub(crate) sizes: [i64; State::ALL.len()],
    pub(crate) last_seq: i64,
    pub(crate) last_end_seq: i64,
    pub(crate) last_turn: i64,
    pub(crate) corrupt: i64,
    /// How many have died and been cancelled since it came to exist.
    pub(crate) total_dead: i64,
    pub(crate) total_cancelled: i64,
    pub(crate) ends: Ends,
    pub(crate) ends_changed: bool,
    /// The counters differ from what is stored.
    pub(crate) changed: bool,
}

impl QueueRow {
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        let name: String = row.get(1)?;
        // Nobody but this crate writes here: a name that is none belongs to no job.
        let Ok(name) = QueueName::new(name) else {
            return Ok(None);
        };
        let count = |at: usize| row.get::<_, i64>(at);
        Ok(Some(Self {
            id: row.get(0)?,
            name,
            settings: read_settings(row, 2)?,
            counts: [count(15)?, count(16)?, count(17)?, count(18)?, count(19)?],
            sizes: [0, 0, count(20)?, count(21)?, count(22)?],
            last_seq: count(23)?,
            last_end_seq: count(24)?,
            last_turn: count(25)?,
            corrupt: count(26)?,
            ends: Ends::from_bytes(row.get_ref(27)?.as_blob()?),
            total_dead: count(28)?,
            total_cancelled: count(29)?,
            ends_changed: false,
            changed: false,
        }))
    }

    pub(crate) fn count(&self, state: State) -> u64 {
        unsigned(self.counts[state as usize])
    }

    pub(crate) fn totals(&self) -> Totals {
        let ended = unsigned(self.last_end_seq);
        Totals::of_ends(ended, unsigned(self.total_dead), unsigned(self.total_cancelled))
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

    /// A job of this size leaves a state (`by` -1) or enters it (+1).
    pub(crate) fn count_job(&mut self, state: State, size: i64, by: i64) {
        self.changed = true;
        self.counts[state as usize] += by;
        if state.is_terminal() {
            self.sizes[state as usize] += by * size;
        }
    }

    /// Remembers an end; its place among the ended.
    pub(crate) fn add_end(&mut self, state: State) -> i64 {
        self.changed = true;
        self.ends.push(state == State::Dead);
        self.ends_changed = true;
        self.total_dead += i64::from(state == State::Dead);
        self.total_cancelled += i64::from(state == State::Cancelled);
        self.last_end_seq += 1;
        self.last_end_seq
    }

    /// Where the job of an oldest end is beyond retention, told by states that share a bound.
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

/// The settings, in the order of the columns.
pub(crate) fn write_settings(settings: &QueueSettings) -> [Box<dyn ToSql>; 13] {
    let ms = |duration: Option<Duration>| duration.map(millis);
    let number = |value: Option<u64>| value.map(|value| i64::try_from(value).unwrap_or(i64::MAX));
    let Retention { done, dead } = settings.retention;
    [
        Box::new(settings.paused),
        Box::new(number(settings.max_pending)),
        Box::new(settings.per_key),
        Box::new(settings.key_on_wait == KeyOnWait::Skip),
        Box::new(settings.key_on_dead == KeyOnDead::Hold),
        Box::new(settings.order == Order::Fair),
        Box::new(millis(settings.dedup_window)),
        Box::new(ms(done.age())),
        Box::new(number(done.jobs())),
        Box::new(number(done.bytes())),
        Box::new(ms(dead.age())),
        Box::new(number(dead.jobs())),
        Box::new(number(dead.bytes())),
    ]
}

fn read_settings(row: &Row<'_>, first: usize) -> rusqlite::Result<QueueSettings> {
    let at = |offset: usize| first + offset;
    let number = |offset| row.get::<_, Option<i64>>(at(offset)).map(|n| n.map(unsigned));
    let keep = |offset: usize| -> rusqlite::Result<Keep> {
        let age = number(offset)?.map(Duration::from_millis);
        Ok(keep_of(age, number(offset + 1)?, number(offset + 2)?))
    };
    let mut settings = QueueSettings::default();
    settings.paused = row.get(at(0))?;
    settings.max_pending = number(1)?;
    settings.per_key = row.get(at(2))?;
    settings.key_on_wait = if row.get(at(3))? { KeyOnWait::Skip } else { KeyOnWait::Block };
    settings.key_on_dead = if row.get(at(4))? { KeyOnDead::Hold } else { KeyOnDead::Continue };
    settings.order = if row.get(at(5))? { Order::Fair } else { Order::Strict };
    settings.dedup_window = Duration::from_millis(number(6)?.unwrap_or_default());
    settings.retention = Retention { done: keep(7)?, dead: keep(10)? };
    Ok(settings)
}

/// What was stored was checked when it was set; what was altered since keeps everything.
fn keep_of(age: Option<Duration>, jobs: Option<u64>, bytes: Option<u64>) -> Keep {
    Keep::new(age, jobs, bytes).unwrap_or(Keep::ALL)
}
