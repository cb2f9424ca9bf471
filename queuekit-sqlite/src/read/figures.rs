//! The figures of queues (contract R8.3), without a scan of finished jobs.

use std::collections::BTreeSet;

use queuekit_core::backend::{PageSize, QueuePage};
use queuekit_core::limits::EXACT_COUNT;
use queuekit_core::queue::{Count, Counts, HealthInput, Queue, health};
use queuekit_core::{QueueName, Result, State, Status, Timestamp};
use rusqlite::params;

use super::status::Frontiers;
use crate::row::unsigned;
use crate::statements::*;
use crate::step::{QueueRow, Step};

/// Up to this many jobs, each is looked at.
const EXAMINED: i64 = EXACT_COUNT as i64;
/// If there are more, a sample of this size represents all.
const SAMPLE: usize = 1000;

/// The counts of waiting jobs.
#[derive(Default)]
struct Waiting {
    counts: Counts,
    oldest_due: Option<Timestamp>,
}

impl Step<'_> {
    pub(crate) fn list_queues(
        &mut self,
        after: Option<&QueueName>,
        limit: PageSize,
    ) -> Result<QueuePage> {
        let from = after.map_or("", QueueName::as_str);
        let mut rows = self.queues_from(from, false, limit.get() + 1)?;
        let is_last = rows.len() <= limit.get();
        rows.truncate(limit.get());
        let after = rows.last().filter(|_| !is_last).map(|row| row.name.clone());
        Ok(QueuePage { queues: self.show(rows)?, after })
    }

    pub(crate) fn find_queues(&mut self, names: &[QueueName]) -> Result<Vec<Queue>> {
        let names: BTreeSet<&QueueName> = names.iter().collect();
        let rows = names.into_iter().filter_map(|name| self.queue_row(name).transpose());
        let queues = rows.collect::<Result<_>>()?;
        self.show(queues)
    }

    fn show(&mut self, queues: Vec<QueueRow>) -> Result<Vec<Queue>> {
        let counts = self.worker_counts()?;
        let mut listed = Vec::with_capacity(queues.len());
        for row in queues {
            let workers = counts.serving(&row.name);
            listed.push(self.figures(row, workers)?);
        }
        Ok(listed)
    }

    fn figures(&mut self, row: QueueRow, workers: u64) -> Result<Queue> {
        let waiting = self.waiting(&row)?;
        let mut queue = Queue::empty(row.name.clone(), row.settings.clone().at(self.now), self.now);
        queue.counts = waiting.counts;
        let expired = params![row.id, self.now.as_millis(), EXAMINED + 1];
        let expired = unsigned(self.value(COUNT_EXPIRED, expired)?.unwrap_or(0));
        let bounded = |value: u64| Count { value, exact: value <= EXACT_COUNT };
        let running = row.count(State::Running).saturating_sub(expired);
        queue.counts.set(Status::Expired, bounded(expired));
        let exact = expired <= EXACT_COUNT;
        queue.counts.set(Status::Running, Count { value: running, exact });
        for status in [Status::Completed, Status::Dead, Status::Cancelled] {
            queue.counts.set(status, Count::exact(row.count(status.state())));
        }
        queue.totals = row.totals();
        queue.workers = workers;
        queue.oldest_ready_age = waiting.oldest_due.map(|due| self.now.since(due));
        queue.corrupt = unsigned(row.corrupt);
        queue.health = health(HealthInput {
            oldest_ready_age: queue.oldest_ready_age,
            last_ended: row.ends.ended(),
            last_dead: row.ends.dead(),
            has_live_worker: workers > 0,
        });
        Ok(queue)
    }

    /// The waiting jobs by status. Counts the due ready jobs in the index and looks at the others;
    /// if they are many, a sample represents them.
    fn waiting(&mut self, row: &QueueRow) -> Result<Waiting> {
        let pending = row.counts[State::Pending as usize];
        let mut waiting = Waiting::default();
        let is_placed = row.moving.is_none();
        // Where waiting jobs are passed, time changes which job of a key is ready: a short queue
        // is looked at job by job.
        if row.skips() && pending <= EXAMINED {
            let keys = self.keys(PENDING_KEYS, params![row.id, EXAMINED])?;
            self.tell(&keys, keys.len() as i64, is_placed, &mut waiting)?;
            return Ok(waiting);
        }
        let (due, future) = self.ready_jobs(row, &mut waiting)?;
        let behind = self.keys(BEHIND_KEYS, params![row.id, EXAMINED + 1])?;
        let mut sizes = [due, future.len() as i64, behind.len() as i64];
        let exact = fill_up(&mut sizes, pending) && is_placed;
        waiting.add(Status::Ready, sizes[0], exact);
        self.tell(&future, sizes[1], exact, &mut waiting)?;
        self.tell(&behind, sizes[2], exact, &mut waiting)?;
        Ok(waiting)
    }

    /// The number of ready jobs that are due, and the keys of those that are not, each up to a
    /// bound.
    fn ready_jobs(&self, row: &QueueRow, waiting: &mut Waiting) -> Result<(i64, Vec<i64>)> {
        let (now, bound) = (self.now.as_millis(), EXAMINED + 1);
        let (mut due, mut future, mut rank) = (0, Vec::new(), -1);
        while let Some(next) = self.value(NEXT_RANK, params![row.id, rank])? {
            rank = next;
            let counted = params![row.id, rank, now, i64::MAX, bound];
            due += self.value::<i64>(COUNT_BEFORE, counted)?.unwrap_or(0);
            let left = bound - future.len() as i64;
            future.extend(self.keys(FUTURE_KEYS, params![row.id, rank, now, left])?);
            let first = self.value(FIRST_OF_RANK, params![row.id, rank])?;
            waiting.due_since(first.map(Timestamp::from_millis).filter(|at| *at <= self.now));
        }
        Ok((due, future))
    }

    /// Looks at all of `jobs` jobs, or at a sample that represents them.
    fn tell(&mut self, keys: &[i64], jobs: i64, exact: bool, waiting: &mut Waiting) -> Result<()> {
        let looked_at = if jobs <= EXAMINED { keys } else { &keys[..SAMPLE.min(keys.len())] };
        let mut frontiers = Frontiers::default();
        let mut counts = [0_i64; Status::ALL.len()];
        for key in looked_at {
            let Some(record) = self.job_of_key(*key)? else {
                continue;
            };
            let status = self.status(&record, &mut frontiers)?;
            counts[status as usize] += 1;
            let is_ready = status == Status::Ready;
            waiting.due_since(is_ready.then_some(record.scheduled_at));
        }
        let of = (looked_at.len() as i64).max(1);
        for status in State::Pending.statuses().iter() {
            let share = counts[status as usize] * jobs / of;
            waiting.add(status, share, exact && of >= jobs);
        }
        Ok(())
    }
}

impl Waiting {
    fn add(&mut self, status: Status, jobs: i64, exact: bool) {
        let Count { value, exact: was_exact } = self.counts.get(status);
        let sum = Count { value: value + unsigned(jobs), exact: exact && was_exact };
        self.counts.set(status, sum);
    }

    fn due_since(&mut self, at: Option<Timestamp>) {
        self.oldest_due = self.oldest_due.into_iter().chain(at).min();
    }
}

/// Corrects counts that stopped at a bound. If one count reached it, it becomes the whole less the
/// others. If several did, they share the rest, and the result is false: they are estimates.
fn fill_up(sizes: &mut [i64], whole: i64) -> bool {
    let (many, few): (Vec<_>, Vec<_>) = sizes.iter_mut().partition(|size| **size > EXAMINED);
    let left = whole - few.into_iter().map(|size| *size).sum::<i64>();
    let exact = many.len() <= 1;
    let share = left / (many.len() as i64).max(1);
    many.into_iter().for_each(|size| *size = share);
    exact
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_3_what_was_not_counted_to_its_end_is_what_the_others_leave() {
        let bound = EXAMINED + 1;
        let mut one = [5, bound, 20];
        assert!(fill_up(&mut one, 1_000_000));
        assert_eq!(one, [5, 999_975, 20]);
        let mut two = [bound, bound, 20];
        assert!(!fill_up(&mut two, 1_000_020));
        assert_eq!(two, [500_000, 500_000, 20]);
    }
}
