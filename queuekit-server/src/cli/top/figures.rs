//! What the rounds have answered so far.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use queuekit::queues::{Count, Queue, Totals};
use queuekit::store::history::{Rate, TotalsRow, rates};
use queuekit::{Job, QueueName, Status, Timestamp};

use super::extras::Extras;
use super::slot::{Listed, Slot};
use crate::ui::attention::{Consumer, Due, Found, Growth, Seen, SeenQueue, Worker};
use crate::wire::{ErrorGroupBody, HistoryBody, SubscriptionBody, TotalsRowBody, WorkerBody};

/// Over how much time a rate is measured.
const RATE_OVER: Duration = Duration::from_secs(60);
/// How far back the chart looks.
pub(super) const HOUR: Duration = Duration::from_secs(3600);
/// Bars of the chart, a minute each.
const BARS: usize = 60;

/// The last answer of each route. It stays until there is a newer one.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) queues: Slot<Listed<Queue>>,
    pub(super) workers: Slot<Listed<WorkerBody>>,
    pub(super) groups: Slot<Listed<ErrorGroupBody>>,
    pub(super) jobs: Slot<Listed<Job>>,
    pub(super) history: Slot<History>,
    pub(super) extras: Extras,
    samples: VecDeque<Sample>,
}

/// Totals by minute, of all queues.
#[derive(Debug, Default)]
pub(super) struct History {
    rows: Vec<TotalsRow>,
    /// Whether the last answer had all rows up to its time.
    pub(super) is_complete: bool,
    pub(super) asked_at: Option<Timestamp>,
}

/// The totals of all queues at one time.
struct Sample {
    at: Timestamp,
    totals: BTreeMap<QueueName, Totals>,
}

impl Figures {
    pub(super) fn queues(&self) -> &[Queue] {
        self.queues.items()
    }

    pub(super) fn workers(&self) -> &[WorkerBody] {
        self.workers.items()
    }

    pub(super) fn groups(&self) -> &[ErrorGroupBody] {
        self.groups.items()
    }

    pub(super) fn jobs(&self) -> &[Job] {
        self.jobs.items()
    }

    /// Jobs of this status in all queues, and whether the number is exact.
    pub(super) fn total(&self, status: Status) -> Count {
        let counts = self.queues().iter().map(|queue| queue.counts.get(status));
        counts.fold(Count::exact(0), |sum, count| Count {
            value: sum.value.saturating_add(count.value),
            exact: sum.exact && count.exact,
        })
    }

    /// Takes an answer about queues, and remembers its totals.
    pub(super) fn take_queues(&mut self, queues: Listed<Queue>) {
        let Some(at) = queues.items.iter().map(|queue| queue.as_of).max() else {
            return self.queues.set(queues);
        };
        let totals = queues.items.iter().map(|queue| (queue.name.clone(), queue.totals)).collect();
        self.samples.push_back(Sample { at, totals });
        while self.samples.get(1).is_some_and(|second| at.since(second.at) >= RATE_OVER) {
            self.samples.pop_front();
        }
        self.queues.set(queues);
    }

    /// How many jobs of a queue were completed per minute, over the last minute or since the start.
    pub(super) fn completed_per_minute(&self, queue: &QueueName) -> Option<f64> {
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        let elapsed = last.at.since(first.at);
        let (before, after) = (first.totals.get(queue)?, last.totals.get(queue)?);
        // Of a second or less it would say more than is known.
        if elapsed <= Duration::from_secs(1) {
            return None;
        }
        let completed = after.since(before).completed;
        Some(completed as f64 / elapsed.as_secs_f64() * 60.0)
    }

    /// How the backlog of a queue has grown over the last minute, once that is known.
    fn growth(&self, queue: &QueueName) -> Option<Growth> {
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        let (before, after) = (first.totals.get(queue)?, last.totals.get(queue)?);
        let is_whole = last.at.since(first.at) >= RATE_OVER;
        is_whole.then(|| Growth::of(after.since(before), RATE_OVER.as_secs() / 60))
    }

    /// Takes a page of history.
    pub(super) fn take_history(&mut self, body: &HistoryBody, now: Timestamp) {
        let mut history = self.history.value.take().unwrap_or_default();
        let known = history.rows.last().map(|row| row.at);
        let rows = body.totals.iter().filter_map(TotalsRowBody::row);
        history.rows.extend(rows.filter(|row| known.is_none_or(|known| row.at > known)));
        history.rows.retain(|row| now.since(row.at) <= HOUR + Duration::from_secs(60));
        history.is_complete = body.next.is_none();
        history.asked_at = Some(now);
        self.history.set(history);
    }

    /// Jobs completed in each of the last 60 minutes, the oldest first; none without history.
    pub(super) fn completed_by_minute(&self, now: Timestamp) -> Option<Vec<u64>> {
        let rates = rates(&self.history.value.as_ref()?.rows);
        if rates.is_empty() {
            return None;
        }
        let mut bars = vec![0; BARS];
        for Rate { to, change, .. } in rates {
            let minutes = usize::try_from(now.since(to).as_secs() / 60).unwrap_or(usize::MAX);
            if let Some(bar) = BARS.checked_sub(minutes + 1).and_then(|at| bars.get_mut(at)) {
                *bar += change.completed;
            }
        }
        Some(bars)
    }

    /// What needs attention, the most urgent first.
    pub(super) fn concerns(&self, now: Timestamp) -> Vec<Found> {
        let Extras { consumers, schedules, findings, .. } = &self.extras;
        let consumer = |one: &'_ SubscriptionBody| Consumer {
            name: Cow::Owned(one.consumer.clone()),
            is_enabled: one.enabled,
        };
        let consumers = consumers.slot.value.iter().flatten().map(consumer).collect();
        let schedules = schedules.slot.value.iter();
        let due = schedules.flat_map(|read| {
            read.next.iter().map(|(name, at)| Due { name, at: *at, as_of: read.as_of })
        });
        let worker = |worker: &'_ WorkerBody| Worker {
            id: Cow::Owned(worker.id.clone()),
            name: Cow::Owned(worker.name.clone()),
            age: Duration::from_millis(worker.age_ms),
            quiet_for: Duration::from_millis(worker.quiet_ms),
        };
        let queues = self.queues().iter();
        let queues = queues.map(|queue| SeenQueue { queue, growth: self.growth(&queue.name) });
        let seen = Seen {
            queues: queues.collect(),
            consumers,
            workers: self.workers().iter().map(worker).collect(),
            groups: self.groups().iter().map(Cow::Borrowed).collect(),
            due: due.collect(),
            findings: findings.slot.value.as_deref().unwrap_or_default(),
            store_now: self.store_now(now),
        };
        seen.concerns()
    }

    /// The time of the store's clock, as far as it is known.
    pub(super) fn store_now(&self, now: Timestamp) -> Timestamp {
        self.queues().iter().map(|queue| queue.as_of).max().unwrap_or(now)
    }

    /// The queues that need to be looked at first: the least healthy, then those with the most to
    /// do.
    pub(super) fn pressing_queues(&self) -> Vec<&Queue> {
        let mut queues: Vec<&Queue> = self.queues().iter().collect();
        queues.sort_by_cached_key(|queue| {
            let to_do =
                queue.counts.get(Status::Ready).value + queue.counts.get(Status::Running).value;
            (queue.health.score, std::cmp::Reverse(to_do), queue.name.clone())
        });
        queues
    }
}

impl History {
    /// The time of the last row.
    pub(super) fn last_row(&self) -> Option<Timestamp> {
        self.rows.last().map(|row| row.at)
    }
}
