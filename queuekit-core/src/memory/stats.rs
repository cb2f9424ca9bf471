//! The figures of queues (contract R8.3), counted at each call, which a store in memory can afford.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

use super::listing::Frontiers;
use super::queue::QueueTable;
use super::tables::Tables;
use crate::backend::{PageSize, QueuePage};
use crate::job::{State, Status};
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
        let mut queue = Queue::empty(name.clone(), table.settings.clone(), now);
        let mut waiting = [0_u64; Status::ALL.len()];
        let mut oldest_due = None;
        let mut frontiers = Frontiers::default();
        for id in table.pending() {
            let Some(record) = self.jobs.get(&id) else {
                continue;
            };
            let status = self.status(record, table, &mut frontiers);
            waiting[status as usize] += 1;
            if status == Status::Ready {
                let due = oldest_due.get_or_insert(record.scheduled_at);
                *due = record.scheduled_at.min(*due);
            }
        }
        for status in State::Pending.statuses().iter() {
            queue.counts.set(status, Count::exact(waiting[status as usize]));
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
        queue.oldest_ready_age = oldest_due.map(|due| now.since(due));
        queue.corrupt = table.corrupt;
        queue.health = health(HealthInput {
            oldest_ready_age: queue.oldest_ready_age,
            last_ended: table.last_ended.len(),
            last_dead: table.last_dead,
            has_live_worker: queue.workers > 0,
        });
        queue
    }
}

impl QueueTable {
    fn pending(&self) -> impl Iterator<Item = crate::job::JobId> {
        // The next job of each key is in the levels too; `keyed` has all of them.
        let entries: std::collections::HashSet<_> =
            self.keyed.values().map(|(id, _)| *id).collect();
        let levels = self.levels.iter().flat_map(|level| level.values().copied());
        let plain = levels.filter(move |id| !entries.contains(id));
        plain.chain(self.keyed.values().map(|(id, _)| *id))
    }
}
