//! Partition keys, and jobs behind their heads, whose time has come (contract R7.3, R7.4). One call
//! looks at a bounded number of them. The others stay due, so the caller looks again.

use queuekit_core::{QueueName, Result, Timestamp};
use rusqlite::params;

use super::Step;
use super::partition_key::Lane;
use crate::statements::{LANE_FIRST_LATER, LANE_PROMOTE, LANES_DUE, LANES_LATER};

/// The most keys and jobs whose time has come that one call looks at.
pub(super) const LOOKS: usize = 4000;

impl Step<'_> {
    /// Begins a call. It sees the time at which it runs, not that at which the transaction began.
    pub(crate) fn begin_call(&mut self, now: Timestamp) {
        self.now = now;
        self.looks = LOOKS;
    }

    /// Puts keys whose time has come where their next job is served. Half of the looks are left for
    /// keys of which a job is found due when they are served.
    pub(super) fn wake_keys(&mut self, queue: usize) -> Result<()> {
        let kept = self.looks / 2;
        self.looks -= kept;
        let due = params![self.queues[queue].id, self.now.as_millis(), self.looks];
        for name in self.column::<String>(LANES_DUE, due)? {
            // Guard: without a bound for all keys together, a reserve of one job marked a million.
            if self.looks == 0 {
                break;
            }
            self.looks -= 1;
            let mut lane = self.lane(queue, &name)?;
            self.refresh(&mut lane)?;
        }
        self.looks += kept;
        Ok(())
    }

    /// The time of the next key.
    pub(super) fn next_woken(&self, queue: usize) -> Result<Option<Timestamp>> {
        let later = self.value(LANES_LATER, [self.queues[queue].id])?;
        Ok(later.map(Timestamp::from_millis))
    }

    /// Whether a key of these queues is left to be looked at now.
    pub(super) fn is_behind(&mut self, names: &[QueueName]) -> Result<bool> {
        for name in names {
            let Some(queue) = self.queue(name)? else { continue };
            if self.queues[queue].settings.is_paused(self.now) {
                continue;
            }
            let is_due = self.next_woken(queue)?.is_some_and(|at| at <= self.now);
            if is_due || self.queues[queue].moving.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Where waiting jobs are passed, marks those of a key whose time has come. Returns false if
    /// some are left to the next call. Until then the key is not served, because one of them may be
    /// its next job.
    pub(super) fn promote(&mut self, lane: &Lane) -> Result<bool> {
        let queue = &self.queues[lane.queue];
        let is_alone = lane.head.is_some() && lane.waiting == 1;
        if !queue.skips() || !self.gives(lane) || is_alone || !self.has_unmarked(lane)? {
            return Ok(true);
        }
        let now = self.now.as_millis();
        let marked = params![queue.id, lane.name, now, self.looks];
        self.looks -= self.execute(LANE_PROMOTE, marked)?;
        Ok(self.looks > 0 || !self.has_unmarked(lane)?)
    }

    /// In a strict queue where waiting jobs are passed: the key of a candidate, if a job behind it
    /// has come due that may go before it.
    pub(super) fn late_lane(&self, queue: usize, key: Option<&str>) -> Result<Option<Lane>> {
        let passes = self.queues[queue].skips() && !self.queues[queue].is_fair();
        let lane = key.filter(|_| passes).map(|key| self.lane(queue, key)).transpose()?;
        Ok(lane.filter(|lane| lane.is_due(self.now)))
    }

    fn has_unmarked(&self, lane: &Lane) -> Result<bool> {
        let later = self.waiting_job(LANE_FIRST_LATER, lane)?;
        Ok(later.is_some_and(|later| later.scheduled_at <= self.now))
    }
}
