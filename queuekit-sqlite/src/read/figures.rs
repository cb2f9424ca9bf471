//! The figures of queues (contract R8.3), without a scan of finished jobs.

use queuekit_core::limits::EXACT_COUNT;
use queuekit_core::queue::{Count, Counts, HealthInput, Queue, health};
use queuekit_core::{Result, State, Status, Timestamp};
use rusqlite::params;

use super::status::Frontiers;
use crate::row::unsigned;
use crate::statements::*;
use crate::step::{QueueRow, Step};

/// Waiting jobs of a queue that are looked at one by one; of more, the counts are estimates.
const EXAMINED: i64 = EXACT_COUNT as i64;

/// What is known of the jobs that wait.
#[derive(Default)]
struct Waiting {
    counts: Counts,
    oldest_due: Option<Timestamp>,
}

impl Step<'_> {
    pub(crate) fn list_queues(&mut self) -> Result<Vec<Queue>> {
        let workers = self.list_workers()?;
        let queues = self.all_queues()?;
        let mut listed = Vec::new();
        for row in queues {
            let serves = |beat: &queuekit_core::capability::Beat| beat.queues.contains(&row.name);
            let serving = workers.iter().filter(|worker| serves(&worker.beat)).count();
            listed.push(self.figures(row, serving as u64)?);
        }
        Ok(listed)
    }

    fn figures(&mut self, row: QueueRow, workers: u64) -> Result<Queue> {
        let waiting = if row.counts[State::Pending as usize] <= EXAMINED {
            self.examine_waiting(&row)?
        } else {
            self.estimate_waiting(&row)?
        };
        let mut queue = Queue::empty(row.name.clone(), row.settings.clone(), self.now);
        queue.counts = waiting.counts;
        let expired = params![row.id, self.now.as_millis(), EXAMINED + 1];
        let expired = unsigned(self.row(COUNT_EXPIRED, expired, |row| row.get(0))?.unwrap_or(0));
        let bounded = |value: u64| Count { value, exact: value <= EXACT_COUNT };
        let running = row.count(State::Running).saturating_sub(expired);
        queue.counts.set(Status::Expired, bounded(expired));
        let exact = expired <= EXACT_COUNT;
        queue.counts.set(Status::Running, Count { value: running, exact });
        for status in [Status::Completed, Status::Dead, Status::Cancelled] {
            queue.counts.set(status, Count::exact(row.count(status.state())));
        }
        queue.workers = workers;
        queue.oldest_ready_age = waiting.oldest_due.map(|due| self.now.since(due));
        queue.corrupt = unsigned(row.corrupt);
        queue.health = health(HealthInput {
            oldest_ready_age: queue.oldest_ready_age,
            dead_share: row.ends.dead_share(),
            has_live_worker: workers > 0,
        });
        Ok(queue)
    }

    /// Tells the status of each.
    fn examine_waiting(&mut self, row: &QueueRow) -> Result<Waiting> {
        let mut waiting = Waiting::default();
        let mut frontiers = Frontiers::default();
        let mut counts = [0_u64; Status::ALL.len()];
        for key in self.keys(WAITING_KEYS, params![row.id, EXAMINED])? {
            let Some(record) = self.job_of_key(key)? else {
                continue;
            };
            let status = self.status(&record, &mut frontiers)?;
            counts[status as usize] += 1;
            if status == Status::Ready {
                let due = waiting.oldest_due.get_or_insert(record.scheduled_at);
                *due = record.scheduled_at.min(*due);
            }
        }
        for status in State::Pending.statuses().iter() {
            waiting.counts.set(status, Count::exact(counts[status as usize]));
        }
        Ok(waiting)
    }

    /// Counts the open jobs that are due and those that are not, each up to a bound, and takes
    /// the others for blocked: they wait behind the head of their key.
    fn estimate_waiting(&mut self, row: &QueueRow) -> Result<Waiting> {
        let now = self.now.as_millis();
        let (mut ready, mut future, mut rank) = (0, 0, -1);
        let mut oldest_due: Option<Timestamp> = None;
        while let Some(next) = self.row(NEXT_RANK, params![row.id, rank], |row| row.get(0))? {
            rank = next;
            let bound = EXAMINED + 1;
            let due = params![row.id, rank, now, i64::MAX, bound];
            ready += self.row(COUNT_BEFORE, due, |row| row.get::<_, i64>(0))?.unwrap_or(0);
            let later = params![row.id, rank, now, bound];
            future += self.row(COUNT_AFTER, later, |row| row.get::<_, i64>(0))?.unwrap_or(0);
            let first = self.row(FIRST_OF_RANK, params![row.id, rank], |row| row.get(0))?;
            let first = first.map(Timestamp::from_millis).filter(|at| *at <= self.now);
            oldest_due = oldest_due.into_iter().chain(first).min();
        }
        let pending = row.counts[State::Pending as usize];
        // What was not counted to its end is most of what waits.
        let blocked = self.waiting_behind(row)?;
        let open = pending - blocked;
        match (ready > EXAMINED, future > EXAMINED) {
            (true, false) => ready = open - future,
            (false, true) => future = open - ready,
            (true, true) => {
                ready = open / 2;
                future = open - ready;
            }
            (false, false) => {}
        }
        let mut counts = Counts::default();
        let parts = [
            (Status::Ready, ready),
            (Status::Scheduled, future),
            (Status::Failed, 0),
            (Status::Blocked, blocked),
        ];
        for (status, value) in parts {
            counts.set(status, Count::estimate(unsigned(value)));
        }
        Ok(Waiting { counts, oldest_due })
    }

    /// How many jobs wait that are not open.
    fn waiting_behind(&self, row: &QueueRow) -> Result<i64> {
        let closed = self.row(LANES_WAITING, [row.id], |row| row.get::<_, Option<i64>>(0))?;
        Ok(closed.flatten().unwrap_or(0))
    }
}
