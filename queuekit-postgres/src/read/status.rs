//! The status of jobs at the moment of reading (contract R1.1).

use std::collections::{BTreeSet, HashMap};

use queuekit_core::{State, Status, Timestamp, lifecycle};

use crate::error::Outcome;
use crate::params::params;
use crate::row::Record;
use crate::session::Session;
use crate::statements::Sql;

/// The last unblocked sequence of partition keys, found once per read.
#[derive(Debug, Default)]
pub(super) struct Frontiers(HashMap<(i32, String), i64>);

impl Frontiers {
    /// Looks up the keys of these jobs that are not known yet.
    pub(super) async fn learn(
        &mut self,
        session: &Session<'_>,
        records: impl Iterator<Item = &Record>,
    ) -> Outcome<()> {
        let mut unknown: BTreeSet<(i32, &str)> = BTreeSet::new();
        for record in records.filter(|record| record.state == State::Pending) {
            if let Some(key) = record.partition_key()
                && !self.0.contains_key(&(record.queue, key.to_owned()))
            {
                unknown.insert((record.queue, key));
            }
        }
        if unknown.is_empty() {
            return Ok(());
        }
        let (queues, keys): (Vec<i32>, Vec<&str>) = unknown.into_iter().unzip();
        for row in session.query(Sql::Frontiers, params![queues, keys]).await? {
            let key = (row.try_get("queue")?, row.try_get("lane")?);
            self.0.insert(key, row.try_get("frontier")?);
        }
        Ok(())
    }

    pub(super) fn status(&self, record: &Record, now: Timestamp) -> Status {
        match record.state {
            State::Pending => {
                let frontier = |key: &str| {
                    self.0.get(&(record.queue, key.to_owned())).copied().unwrap_or_default()
                };
                let blocked = record.partition_key().is_some_and(|key| frontier(key) < record.seq);
                lifecycle::waiting_status(blocked, record.scheduled_at, now, record.attempts)
            }
            State::Running if record.lease_expires_at.is_none_or(|at| at <= now) => Status::Expired,
            State::Running => Status::Running,
            State::Completed => Status::Completed,
            State::Dead => Status::Dead,
            State::Cancelled => Status::Cancelled,
        }
    }
}
