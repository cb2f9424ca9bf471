//! The figures of queues (contract R8.3), counted at each call. Ready jobs without a key are not
//! looked at one by one, however many they are, because all other calls wait meanwhile.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

use super::listing::Frontiers;
use super::queue::QueueTable;
use super::tables::Tables;
use crate::backend::{PageSize, QueuePage};
use crate::clock::Timestamp;
use crate::job::{JobId, State, Status};
use crate::names::QueueName;
use crate::queue::{Count, HealthInput, Queue, WorkerCounts, health};

impl Tables {
    pub(super) fn list_queues(&self, after: Option<&QueueName>, limit: PageSize) -> QueuePage {
        let workers = WorkerCounts::of(self.live_workers());
        let from = (after.map_or(Unbounded, Excluded), Unbounded);
        let mut tables = self.queues.range::<QueueName, _>(from);
        let page = tables.by_ref().take(limit.get());
        let queues: Vec<Queue> =
            page.map(|(name, table)| self.figures(name, table, &workers)).collect();
        let last = queues.last().filter(|_| tables.next().is_some());
        let after = last.map(|queue| queue.name.clone());
        QueuePage { queues, after }
    }

    pub(super) fn find_queues(&self, names: &[QueueName]) -> Vec<Queue> {
        let names: BTreeSet<&QueueName> = names.iter().collect();
        let tables = names.into_iter().filter_map(|name| Some((name, self.queues.get(name)?)));
        let workers = WorkerCounts::of(self.live_workers());
        tables.map(|(name, table)| self.figures(name, table, &workers)).collect()
    }

    fn figures(&self, name: &QueueName, table: &QueueTable, workers: &WorkerCounts) -> Queue {
        let now = self.now;
        let mut queue = Queue::empty(name.clone(), table.settings.clone().at(now), now);
        let pending = self.pending(table);
        for status in State::Pending.statuses().iter() {
            queue.counts.set(status, Count::exact(pending.counts[status as usize]));
        }
        let expired = table.leased.keys().take_while(|(at, _)| *at <= now).count() as u64;
        let running = table.count(State::Running) - expired;
        queue.counts.set(Status::Expired, Count::exact(expired));
        queue.counts.set(Status::Running, Count::exact(running));
        for (status, state) in [
            (Status::Completed, State::Completed),
            (Status::Dead, State::Dead),
            (Status::Cancelled, State::Cancelled),
        ] {
            queue.counts.set(status, Count::exact(table.count(state)));
        }
        queue.totals = table.totals();
        queue.workers = workers.serving(name);
        queue.oldest_ready_age = pending.oldest_due.map(|due| now.since(due));
        queue.corrupt = table.corrupt;
        queue.health = health(HealthInput {
            oldest_ready_age: queue.oldest_ready_age,
            last_ended: table.last_ended.len(),
            last_dead: table.last_dead,
            has_live_worker: queue.workers > 0,
        });
        queue
    }

    fn pending(&self, table: &QueueTable) -> Pending {
        let mut pending = Pending::default();
        let mut frontiers = Frontiers::default();
        for record in table.keyed.values().filter_map(|(id, _)| self.jobs.get(id)) {
            let status = self.status(record, table, &mut frontiers);
            pending.add(status, 1);
            pending.oldest_due(Some(record.scheduled_at).filter(|_| status == Status::Ready));
        }
        self.count_plain(table, &mut pending);
        pending
    }

    /// Counts the jobs without a key. Those that are due are ready, so only the others are looked
    /// at.
    fn count_plain(&self, table: &QueueTable, pending: &mut Pending) {
        // The next job of each key is in the levels too.
        let plain = |id: &JobId| self.jobs.get(id).filter(|record| record.partition_key.is_none());
        let mut due = 0;
        for level in &table.levels {
            let later = level.range((Excluded((self.now, u64::MAX)), Unbounded));
            due += level.len();
            for (_, id) in later {
                due -= 1;
                if let Some(record) = plain(id) {
                    pending.add(record.status(false, self.now), 1);
                }
            }
            let first = level.iter().find(|(_, id)| plain(id).is_some()).map(|((at, _), _)| *at);
            pending.oldest_due(first.filter(|at| *at <= self.now));
        }
        let heads = table.partitions.values().filter(|partition| partition.is_next_by(self.now));
        pending.add(Status::Ready, (due - heads.count()) as u64);
    }
}

/// Pending jobs of a queue, by status.
#[derive(Default)]
struct Pending {
    counts: [u64; Status::ALL.len()],
    /// When the oldest of the ready ones was due.
    oldest_due: Option<Timestamp>,
}

impl Pending {
    fn add(&mut self, status: Status, jobs: u64) {
        self.counts[status as usize] += jobs;
    }

    fn oldest_due(&mut self, due: Option<Timestamp>) {
        self.oldest_due = [self.oldest_due, due].into_iter().flatten().min();
    }
}
