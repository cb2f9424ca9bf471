//! The jobs of one partition key (contract R7.3).
//!
//! A key has a row of its own. It counts the jobs that wait, run, or hold the key dead, and has the
//! key's place in the serving structures: in a strict queue its next job, its head, is ready, as
//! jobs without a key are; in a fair one the row itself has a turn.

use queuekit_core::{Result, State, Timestamp};
use rusqlite::{Row, params};

use super::Step;
use crate::column_names::columns;
use crate::row::{PLAIN, Record};
use crate::statements::*;

#[derive(Clone, Debug)]
pub(crate) struct Lane {
    /// The index of its queue among those of the step.
    pub(super) queue: usize,
    pub(super) name: String,
    pub(super) waiting: i64,
    pub(super) running: i64,
    pub(super) held: i64,
    /// The sequence of the job that is ready.
    pub(super) head: Option<i64>,
    pub(super) turn: i64,
    pub(super) ready: Option<bool>,
    pub(super) next_at: Option<Timestamp>,
    stored: bool,
}

/// A waiting job of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    pub(super) key: i64,
    pub(super) seq: i64,
    pub(super) scheduled_at: Timestamp,
}

columns! {
    struct LaneColumns { waiting, running, held, head, turn, ready, next_at }
    struct NextColumns { key, seq, scheduled_at }
}

impl Lane {
    fn new(queue: usize, name: &str) -> Self {
        Self {
            queue,
            name: name.to_owned(),
            waiting: 0,
            running: 0,
            held: 0,
            head: None,
            turn: 0,
            ready: None,
            next_at: None,
            stored: false,
        }
    }

    fn read(queue: usize, name: &str, row: &Row<'_>, at: &LaneColumns) -> rusqlite::Result<Self> {
        Ok(Self {
            queue,
            name: name.to_owned(),
            waiting: row.get(at.waiting)?,
            running: row.get(at.running)?,
            held: row.get(at.held)?,
            head: row.get(at.head)?,
            turn: row.get(at.turn)?,
            ready: row.get(at.ready)?,
            next_at: row.get::<_, Option<i64>>(at.next_at)?.map(Timestamp::from_millis),
            stored: true,
        })
    }

    pub(super) fn is_plain(&self) -> bool {
        self.name == PLAIN
    }

    /// Takes a job out of the state that its record still has.
    pub(super) fn leave(&mut self, record: &Record) {
        match record.state {
            State::Pending => {
                self.waiting -= 1;
                self.head = self.head.filter(|head| *head != record.seq);
            }
            State::Running if !self.is_plain() => self.running -= 1,
            State::Dead if record.holds => self.held -= 1,
            _ => {}
        }
    }

    /// Whether it is time to look at the key again.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        self.ready == Some(false) && self.next_at.is_some_and(|at| at <= now)
    }

    fn is_empty(&self) -> bool {
        self.waiting == 0 && self.running == 0 && self.held == 0
    }
}

impl Step<'_> {
    /// The key of this name; a new one if it does not exist.
    pub(crate) fn lane(&self, queue: usize, name: &str) -> Result<Lane> {
        let read = |row: &Row<'_>, at: &LaneColumns| Lane::read(queue, name, row, at);
        let stored = self.row(LANE, params![self.queues[queue].id, name], read)?;
        Ok(stored.unwrap_or_else(|| Lane::new(queue, name)))
    }

    /// Puts a key where its next job is served, and writes its row.
    pub(super) fn refresh(&mut self, lane: &mut Lane) -> Result<()> {
        if lane.is_plain() {
            self.place_plain(lane)?;
        } else if !self.promote(lane)? {
            self.set_head(lane, None)?;
            // Behind the keys that have been due for longer.
            (lane.ready, lane.next_at) = (Some(false), Some(self.now));
        } else if self.queues[lane.queue].is_fair() {
            self.set_head(lane, None)?;
            let next = self.next(lane)?;
            self.place(lane, next.map(|next| next.scheduled_at));
        } else {
            let head = self.next_head(lane)?;
            self.set_head(lane, head)?;
            lane.next_at = self.next_alarm(lane)?;
            lane.ready = lane.next_at.map(|_| false);
        }
        self.write_lane(lane)
    }

    /// Makes another job of a key its head.
    fn set_head(&mut self, lane: &mut Lane, head: Option<i64>) -> Result<()> {
        if lane.head == head {
            return Ok(());
        }
        let id = self.queues[lane.queue].id;
        if let Some(seq) = lane.head.take() {
            self.return_head(lane, seq)?;
        }
        if let Some(seq) = head {
            self.execute(HEAD_INSERT, params![id, lane.name, seq])?;
            self.execute(WAITING_DELETE, params![id, lane.name, seq])?;
            self.opened = true;
        }
        lane.head = head;
        Ok(())
    }

    /// Lets a ready job of a key wait again. Returns how many did.
    pub(super) fn return_head(&self, lane: &Lane, seq: i64) -> Result<u64> {
        let queue = &self.queues[lane.queue];
        let now = queue.skips().then_some(self.now.as_millis());
        self.execute(HEAD_RETURN, params![queue.id, lane.name, seq, now])?;
        let returned = self.execute(HEAD_DELETE, params![queue.id, lane.name, seq])?;
        Ok(returned as u64)
    }

    /// In a strict queue, the sequence of the job of a key to lease next, now or at its time; none
    /// while no lease of the key may start.
    fn next_head(&self, lane: &Lane) -> Result<Option<i64>> {
        if !self.gives(lane) {
            return Ok(None);
        }
        if lane.head.is_some() && lane.waiting == 1 {
            return Ok(lane.head);
        }
        let next = self.next(lane)?;
        if !self.queues[lane.queue].skips() {
            return Ok(lane.head.into_iter().chain(next.map(|next| next.seq)).min());
        }
        let head = match lane.head {
            Some(_) => self.waiting_job(HEAD, lane)?,
            None => None,
        };
        // Jobs whose time has come go by sequence, the others by their time.
        let place = |next: &Next| {
            let is_due = next.scheduled_at <= self.now;
            (if is_due { Timestamp::default() } else { next.scheduled_at }, next.seq)
        };
        let first = head.into_iter().chain(next).min_by_key(place);
        Ok(first.map(|first| first.seq))
    }

    /// The next job to lease among those behind the head of a key, now or at its time; none while
    /// no lease of the key may start.
    pub(super) fn next(&self, lane: &Lane) -> Result<Option<Next>> {
        if !self.gives(lane) {
            return Ok(None);
        }
        if !self.queues[lane.queue].skips() {
            return self.waiting_job(LANE_FIRST, lane);
        }
        let id = self.queues[lane.queue].id;
        while let Some(due) = self.waiting_job(LANE_FIRST_DUE, lane)? {
            if due.scheduled_at <= self.now {
                return Ok(Some(due));
            }
            self.execute(LANE_DEMOTE, params![id, lane.name, due.seq])?;
        }
        self.waiting_job(LANE_FIRST_LATER, lane)
    }

    /// Whether a job of a key may be leased next.
    pub(super) fn gives(&self, lane: &Lane) -> bool {
        lane.waiting > 0 && self.free_leases(lane) > 0
    }

    /// Whether the next job that waits for a key becomes its head.
    pub(super) fn lacks_head(&self, lane: &Lane) -> bool {
        let is_strict = !self.queues[lane.queue].is_fair();
        is_strict && lane.waiting == 0 && lane.head.is_none() && self.free_leases(lane) > 0
    }

    /// Whether a job that dies now is the head of its key, which then holds it under `hold`.
    pub(super) fn is_head(&self, record: &Record, lane: &Lane) -> Result<bool> {
        let place = params![self.queues[lane.queue].id, lane.name, record.seq];
        Ok(self.value(LANE_IS_BEFORE, place)? == Some(false))
    }

    /// In a strict queue where waiting jobs are passed: when the time of the next job comes, which
    /// may then go before the head.
    fn next_alarm(&self, lane: &Lane) -> Result<Option<Timestamp>> {
        if lane.head.is_none() || !self.queues[lane.queue].skips() {
            return Ok(None);
        }
        let later = self.waiting_job(LANE_FIRST_LATER, lane)?;
        Ok(later.map(|later| later.scheduled_at))
    }

    pub(crate) fn free_leases(&self, lane: &Lane) -> i64 {
        let queue = &self.queues[lane.queue];
        if queue.holds() && lane.held > 0 {
            return 0;
        }
        i64::from(queue.settings.per_key) - lane.running
    }

    pub(super) fn waiting_job(&self, sql: &'static str, lane: &Lane) -> Result<Option<Next>> {
        let read = |row: &Row<'_>, at: &NextColumns| {
            let scheduled_at = Timestamp::from_millis(row.get(at.scheduled_at)?);
            Ok(Next { key: row.get(at.key)?, seq: row.get(at.seq)?, scheduled_at })
        };
        self.row(sql, params![self.queues[lane.queue].id, lane.name], read)
    }

    fn write_lane(&self, lane: &mut Lane) -> Result<()> {
        let id = self.queues[lane.queue].id;
        // The jobs without a key keep their turn even if none of them waits.
        let gone =
            if lane.is_plain() { !self.queues[lane.queue].is_fair() } else { lane.is_empty() };
        if gone {
            if std::mem::take(&mut lane.stored) {
                self.execute(LANE_DELETE, params![id, lane.name])?;
            }
            return Ok(());
        }
        lane.stored = true;
        let row = params![
            id,
            lane.name,
            lane.waiting,
            lane.running,
            lane.held,
            lane.head,
            lane.turn,
            lane.ready,
            lane.next_at.map(Timestamp::as_millis),
        ];
        self.execute(LANE_PUT, row).map(drop)
    }
}
