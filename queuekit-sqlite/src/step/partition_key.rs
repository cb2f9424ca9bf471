//! The jobs of one partition key (contract R7.3).
//!
//! A key has a row of its own. It counts the jobs that wait, run, or hold the key dead, and has the
//! key's place in the serving structures: in a strict queue its next job is open, as jobs without a
//! key are; in a fair one the row itself has a turn.

use queuekit_core::{Result, State, Timestamp};
use rusqlite::{Row, params};

use super::Step;
use crate::column_names::columns;
use crate::row::{PLAIN, Record};
use crate::statements::*;

/// The most jobs of one key that are marked as due in one look.
const LOOK: i64 = 1000;

#[derive(Clone, Debug)]
pub(crate) struct Lane {
    /// The index of its queue among those of the step.
    pub(super) queue: usize,
    pub(super) name: String,
    pub(super) waiting: i64,
    pub(super) running: i64,
    pub(super) held: i64,
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
    pub(super) scheduled_at: Timestamp,
}

columns! {
    struct LaneColumns { waiting, running, held, head, turn, ready, next_at }
    struct NextColumns { key, scheduled_at }
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
                // The record's own update closes it.
                self.head = self.head.filter(|head| *head != record.key);
            }
            State::Running if !self.is_plain() => self.running -= 1,
            State::Dead if record.holds => self.held -= 1,
            _ => {}
        }
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
        let was_head = lane.head.take();
        if lane.is_plain() {
            self.place_plain(lane)?;
        } else {
            let next = self.next(lane)?;
            if self.queues[lane.queue].is_fair() {
                self.place(lane, next.map(|next| next.scheduled_at));
            } else {
                lane.head = next.map(|next| next.key);
                lane.next_at = self.next_alarm(lane)?;
                lane.ready = lane.next_at.map(|_| false);
            }
        }
        if lane.head != was_head {
            self.move_opening(was_head, lane.head)?;
        }
        self.write_lane(lane)
    }

    /// Makes another job of a key its next.
    fn move_opening(&mut self, from: Option<i64>, to: Option<i64>) -> Result<()> {
        if let Some(key) = from {
            self.execute(JOB_OPEN, params![key, false])?;
        }
        if let Some(key) = to {
            self.execute(JOB_OPEN, params![key, true])?;
            self.opened = true;
        }
        Ok(())
    }

    /// The job to lease next, now or at its time; none while no lease of the key may start.
    pub(super) fn next(&self, lane: &Lane) -> Result<Option<Next>> {
        if lane.waiting == 0 || self.free_leases(lane) <= 0 {
            return Ok(None);
        }
        if !self.queues[lane.queue].skips() {
            return self.waiting_job(LANE_FIRST, lane);
        }
        let id = self.queues[lane.queue].id;
        let now = self.now.as_millis();
        self.execute(LANE_PROMOTE, params![id, lane.name, now, LOOK])?;
        while let Some(due) = self.waiting_job(LANE_FIRST_DUE, lane)? {
            if due.scheduled_at <= self.now {
                return Ok(Some(due));
            }
            self.execute(LANE_DEMOTE, [due.key])?;
        }
        self.waiting_job(LANE_FIRST_LATER, lane)
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

    fn waiting_job(&self, sql: &'static str, lane: &Lane) -> Result<Option<Next>> {
        let read = |row: &Row<'_>, at: &NextColumns| {
            let scheduled_at = Timestamp::from_millis(row.get(at.scheduled_at)?);
            Ok(Next { key: row.get(at.key)?, scheduled_at })
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
