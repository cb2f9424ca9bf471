//! The status of a job at the moment of reading (contract R1.1).

use std::collections::HashMap;

use queuekit_core::{Result, State, Status, lifecycle};
use rusqlite::{Row, params};

use crate::column_names::columns;
use crate::row::Record;
use crate::statements::{LANE_FRONTIER, LANE_WAITING};
use crate::step::Step;

/// The last unblocked sequence of each key of a queue, found once per read.
#[derive(Debug, Default)]
pub(crate) struct Frontiers(HashMap<(usize, String), i64>);

columns! {
    struct WaitingColumns { seq, scheduled_at }
}

impl Step<'_> {
    pub(super) fn status(&mut self, record: &Record, frontiers: &mut Frontiers) -> Result<Status> {
        let now = self.now;
        Ok(match record.state {
            State::Pending => {
                let blocked = match record.partition_key() {
                    Some(key) => self.frontier(record, key, frontiers)? < record.seq,
                    None => false,
                };
                lifecycle::waiting_status(blocked, record.scheduled_at, now, record.attempts)
            }
            State::Running if record.lease_expires_at.is_none_or(|at| at <= now) => Status::Expired,
            State::Running => Status::Running,
            State::Completed => Status::Completed,
            State::Dead => Status::Dead,
            State::Cancelled => Status::Cancelled,
        })
    }

    fn frontier(&mut self, record: &Record, key: &str, frontiers: &mut Frontiers) -> Result<i64> {
        let queue = self.queue_of(record)?;
        if let Some(known) = frontiers.0.get(&(queue, key.to_owned())) {
            return Ok(*known);
        }
        let found = self.find_frontier(queue, key)?;
        frontiers.0.insert((queue, key.to_owned()), found);
        Ok(found)
    }

    /// The unblocked jobs of a key are always its first few: the sequence of the last of them, 0
    /// if all are blocked.
    fn find_frontier(&self, queue: usize, key: &str) -> Result<i64> {
        let lane = self.lane(queue, key)?;
        let mut free = self.free_leases(&lane);
        if free <= 0 {
            return Ok(0);
        }
        let (id, now) = (self.queue_at(queue).id, self.now.as_millis());
        // While marks are missing, the order tells nearly the same.
        if self.queue_at(queue).skips() && self.queue_at(queue).moving.is_none() {
            let last = params![id, key, now, free];
            let last = self.value(LANE_FRONTIER, last)?;
            return Ok(last.unwrap_or(i64::MAX));
        }
        let read = |row: &Row<'_>, at: &WaitingColumns| {
            Ok((row.get::<_, i64>(at.seq)?, row.get::<_, i64>(at.scheduled_at)?))
        };
        let mut frontier = 0;
        for (seq, scheduled_at) in self.rows(LANE_WAITING, params![id, key, free], read)? {
            if free == 0 {
                break;
            }
            frontier = seq;
            if scheduled_at > now {
                break;
            }
            free -= 1;
        }
        Ok(frontier)
    }
}
