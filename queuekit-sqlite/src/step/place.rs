//! Where a pending job stands: among those that are ready, or behind the head of its key.

use queuekit_core::{Result, Timestamp};
use rusqlite::params;

use super::Step;
use super::partition_key::Lane;
use crate::row::{PLAIN, Record};
use crate::statements::{READY_DELETE, READY_INSERT, WAITING_DELETE, WAITING_INSERT};

/// The place of a pending job.
pub(super) struct Place<'a> {
    pub(super) job: i64,
    pub(super) rank: i64,
    pub(super) at: Timestamp,
    pub(super) seq: i64,
    pub(super) lane: Option<&'a str>,
}

impl<'a> Place<'a> {
    pub(super) fn of(record: &'a Record) -> Self {
        Self {
            job: record.key,
            rank: record.rank,
            at: record.scheduled_at,
            seq: record.seq,
            lane: record.partition_key(),
        }
    }
}

impl Step<'_> {
    /// The lane that counts the waiting jobs of this key. In a fair queue, jobs without a key share
    /// one, too.
    pub(super) fn lane_name<'k>(&self, queue: usize, key: Option<&'k str>) -> Option<&'k str> {
        key.or(self.queues[queue].is_fair().then_some(PLAIN))
    }

    /// Lets a job wait in its place. The only pending job of a key is its head at once, if a lease
    /// of the key may start. Others with a key wait until the key is refreshed.
    pub(super) fn stand(
        &mut self,
        queue: usize,
        place: &Place<'_>,
        lane: Option<&mut Lane>,
    ) -> Result<()> {
        let Place { job, rank, at, seq, lane: key } = *place;
        let (id, millis) = (self.queues[queue].id, at.as_millis());
        let lane = lane.filter(|lane| self.lacks_head(lane));
        if let Some(key) = key.filter(|_| lane.is_none()) {
            let due = self.queues[queue].skips().then_some(at <= self.now);
            let row = params![id, key, seq, millis, rank, due, job];
            return self.execute(WAITING_INSERT, row).map(drop);
        }
        if let Some(lane) = lane {
            lane.head = Some(seq);
            self.opened = true;
        }
        let row = params![id, rank, millis, seq, job, self.lane_name(queue, key)];
        self.execute(READY_INSERT, row).map(drop)
    }

    /// Takes a job out of its place; `head` is the head of its key.
    pub(super) fn leave_place(
        &self,
        queue: usize,
        place: &Place<'_>,
        head: Option<i64>,
    ) -> Result<()> {
        let Place { rank, at, seq, lane, .. } = *place;
        let id = self.queues[queue].id;
        if let Some(lane) = lane.filter(|_| head != Some(seq))
            && self.execute(WAITING_DELETE, params![id, lane, seq])? > 0
        {
            return Ok(());
        }
        self.execute(READY_DELETE, params![id, rank, at.as_millis(), seq]).map(drop)
    }
}
