//! Rows of schedules (contract R15).

use async_trait::async_trait;

use super::tables::Tables;
use super::{MemoryStore, Operation};
use crate::backend::AnswerBytes;
use crate::capability::{
    ScheduleChange, ScheduleChanged, ScheduleQuery, ScheduleRow, ScheduleRows, Schedules,
};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::job::{NewJob, State};
use crate::names::ScheduleName;
use crate::retry::queue_full_retry_after;
use crate::store_limits::Limits;

#[async_trait]
impl Schedules for MemoryStore {
    async fn find_schedules(&self, query: &ScheduleQuery) -> Result<ScheduleRows> {
        self.step(Operation::FindSchedules, |tables| Ok(tables.find_schedules(query)))
    }

    async fn change_schedule(&self, change: &ScheduleChange) -> Result<ScheduleChanged> {
        let limits = &self.shared.limits;
        self.step(Operation::ChangeSchedule, |tables| tables.change_schedule(change, limits))
    }
}

/// Its place among those that are due.
fn place(row: &ScheduleRow) -> Option<(Timestamp, ScheduleName)> {
    Some((row.next_at?, row.name.clone()))
}

impl Tables {
    fn find_schedules(&self, query: &ScheduleQuery) -> ScheduleRows {
        let mut found = ScheduleRows { now: self.now, ..ScheduleRows::default() };
        let rows: Vec<&ScheduleRow> = match query {
            ScheduleQuery::Named(name) => self.schedules.get(name).into_iter().collect(),
            ScheduleQuery::After(after, _) => {
                let is_after = |row: &&ScheduleRow| after.as_ref().is_none_or(|a| row.name > *a);
                self.schedules.values().filter(is_after).collect()
            }
            ScheduleQuery::Due(after, _) => {
                let is_due = |row: &&ScheduleRow| row.next_at.is_some_and(|at| at <= self.now);
                let later = self.schedules.values().filter(|row| !is_due(row));
                let next = later.filter_map(|row| row.next_at).min();
                found.next_due_in = next.map(|next| next.since(self.now));
                let is_after = |row: &&ScheduleRow| place(row) > *after;
                let mut due: Vec<_> =
                    self.schedules.values().filter(is_due).filter(is_after).collect();
                due.sort_by_key(|row| place(row));
                due
            }
        };
        let mut bytes = AnswerBytes::default();
        for row in rows {
            if !found.take(query, &mut bytes, row.clone()) {
                break;
            }
        }
        found
    }

    fn change_schedule(
        &mut self,
        change: &ScheduleChange,
        limits: &Limits,
    ) -> Result<ScheduleChanged> {
        let stored = self.schedules.get(&change.name);
        // Another process was faster. If it enqueued the same occurrence, this change must not do
        // so too.
        if stored.map(|row| row.revision) != change.seen {
            return Ok(ScheduleChanged::Stale);
        }
        if stored.is_none() && change.to.is_some() {
            limits.admit_schedule(self.schedules.len()).map_err(|error| error.on(&change.name))?;
        }
        // Before the first job is stored: a change enqueues all its occurrences or none.
        if !self.has_room_for(&change.jobs) {
            return Ok(ScheduleChanged::QueueFull { retry_after: queue_full_retry_after() });
        }
        if !change.jobs.is_empty() {
            self.enqueue(&change.jobs, limits)?;
        }
        let Some((next_at, body)) = &change.to else {
            self.schedules.remove(&change.name);
            return Ok(ScheduleChanged::Changed);
        };
        // From the sequence of the store: a schedule that is removed and declared again never has a
        // revision that it had before.
        let revision = self.next_seq();
        let (name, next_at) = (change.name.clone(), *next_at);
        let row = ScheduleRow { name: name.clone(), revision, next_at, body: body.clone() };
        self.schedules.insert(name, row);
        Ok(ScheduleChanged::Changed)
    }

    /// Whether the queue has room for all these jobs (R2.8).
    fn has_room_for(&self, jobs: &[NewJob]) -> bool {
        // An occurrence that is stored already takes no room.
        let new = jobs.iter().filter(|job| !self.jobs.contains_key(&job.id())).count() as u64;
        let queue = jobs.first().and_then(|job| self.queues.get(job.queue()));
        queue.is_none_or(|queue| {
            let room = |max: u64| max.saturating_sub(queue.count(State::Pending));
            queue.settings.max_pending.is_none_or(|max| new <= room(max))
        })
    }
}
