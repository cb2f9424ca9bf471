//! What the rounds have answered so far.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use queuekit::queues::{Count, Queue, Totals};
use queuekit::store::history::{Rate, TotalsRow, rates};
use queuekit::{Job, QueueName, Status, Timestamp};

use crate::ui::attention::{self, Found};
use crate::wire::{ErrorGroupBody, HistoryBody, TotalsRowBody, WorkerBody};

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
    samples: VecDeque<Sample>,
}

/// An answer, or why the route refuses one.
#[derive(Debug)]
pub(super) struct Slot<T> {
    pub(super) value: Option<T>,
    pub(super) refused: Option<String>,
}

/// A list, which may be only the first part.
#[derive(Debug)]
pub(super) struct Listed<T> {
    pub(super) items: Vec<T>,
    pub(super) has_more: bool,
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
        // Groups begin by the clock of the store.
        let store_now = self.queues().iter().map(|queue| queue.as_of).max().unwrap_or(now);
        let of_queue = |queue| attention::of_queue(queue, None);
        let mut found: Vec<Found> = self.queues().iter().flat_map(of_queue).collect();
        found.extend(self.workers().iter().filter_map(|worker| {
            let (age, quiet) = (worker.age_ms, worker.quiet_ms);
            let (age, quiet) = (Duration::from_millis(age), Duration::from_millis(quiet));
            attention::of_worker(&worker.name, &worker.id, age, quiet)
        }));
        let groups = self.groups().iter();
        let new = groups.filter(|group| attention::is_new(group.first.0, store_now));
        found.extend(new.map(attention::of_group));
        found.sort_by_key(|found| found.urgency);
        found
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

impl<T> Slot<T> {
    pub(super) fn set(&mut self, value: T) {
        *self = Self { value: Some(value), refused: None };
    }

    /// The route refuses: what it answered before no longer holds.
    pub(super) fn refuse(&mut self, why: String) {
        *self = Self { value: None, refused: Some(why) };
    }
}

impl<T> Slot<Listed<T>> {
    pub(super) fn items(&self) -> &[T] {
        self.value.as_ref().map_or(&[], |listed| &listed.items)
    }

    /// How many there are: `200+` if there are more than were answered.
    pub(super) fn length(&self) -> String {
        let more = self.value.as_ref().is_some_and(|listed| listed.has_more);
        format!("{}{}", self.items().len(), if more { "+" } else { "" })
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { value: None, refused: None }
    }
}
