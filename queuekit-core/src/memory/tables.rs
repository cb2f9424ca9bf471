//! Everything the store keeps.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::event_table::EventTable;
use super::history_table::HistoryTable;
use super::idempotency::Keys;
use super::queue::QueueTable;
use crate::capability::{AuditEntry, Beat, Orders, ScheduleRow};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::error_group::{ErrorGroup, GroupKey};
use crate::job::JobId;
use crate::lifecycle::Record;
use crate::names::{QueueName, ScheduleName, WorkerId};
use crate::store_limits::Limits;

#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    /// The instant of the present step.
    pub(super) now: Timestamp,
    pub(super) jobs: HashMap<JobId, Box<Record>>,
    pub(super) queues: BTreeMap<QueueName, QueueTable>,
    pub(super) keys: Keys,
    pub(super) workers: BTreeMap<WorkerId, StoredWorker>,
    pub(super) schedules: BTreeMap<ScheduleName, ScheduleRow>,
    pub(super) events: EventTable,
    pub(super) acts: VecDeque<AuditEntry>,
    pub(super) error_groups: BTreeMap<QueueName, BTreeMap<GroupKey, ErrorGroup>>,
    pub(super) history: HistoryTable,
    /// Groups kept of a queue.
    pub(super) most_error_groups: usize,
    /// Queues that gained work in the present step.
    pub(super) stirred: BTreeSet<QueueName>,
    /// Queues of running jobs that were asked to stop in the present step.
    pub(super) cancel_requested: BTreeSet<QueueName>,
    pub(super) closed: bool,
    /// The last sequence that was assigned.
    pub(super) seq: u64,
}

/// A worker, its last beat and the orders that it has not obeyed.
#[derive(Clone, Debug)]
pub(super) struct StoredWorker {
    pub(super) beat: Beat,
    pub(super) at: Timestamp,
    pub(super) orders: Orders,
}

impl StoredWorker {
    pub(super) fn is_listed(&self, now: Timestamp) -> bool {
        self.beat.is_listed(self.at, now)
    }
}

impl Tables {
    pub(super) fn of(limits: &Limits) -> Self {
        Self { most_error_groups: limits.error_groups(), ..Self::default() }
    }

    pub(super) fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    /// The queue of this name, which is created if it does not exist.
    pub(super) fn queue(&mut self, name: &QueueName, limits: &Limits) -> Result<&mut QueueTable> {
        if !self.queues.contains_key(name) {
            limits.admit_queue(self.queues.len()).map_err(|error| error.on(name))?;
        }
        Ok(self.queues.entry(name.clone()).or_default())
    }
}
