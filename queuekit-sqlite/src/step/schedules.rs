//! Rows of schedules (contract R15).

use queuekit_core::backend::AnswerBytes;
use queuekit_core::capability::{
    ScheduleChange, ScheduleChanged, ScheduleQuery, ScheduleRow, ScheduleRows,
};
use queuekit_core::retry::queue_full_retry_after;
use queuekit_core::{Bytes, NewJob, Result, ScheduleName, State, Timestamp};
use rusqlite::{Row, params};

use super::Step;
use crate::column_names::columns;
use crate::statements::{
    SCHEDULE, SCHEDULE_COUNT, SCHEDULE_DELETE, SCHEDULE_NEXT, SCHEDULE_PUT, SCHEDULES_AFTER,
    SCHEDULES_DUE,
};

impl Step<'_> {
    pub(crate) fn find_schedules(&self, query: &ScheduleQuery) -> Result<ScheduleRows> {
        let now = self.now.as_millis();
        let mut found = ScheduleRows { now: self.now, ..ScheduleRows::default() };
        let mut bytes = AnswerBytes::default();
        // One more than wanted shows whether there are more.
        let most = query.limit().saturating_add(1);
        match query {
            ScheduleQuery::Named(name) => {
                found.rows.extend(self.row(SCHEDULE, [name.as_str()], read)?.flatten());
            }
            ScheduleQuery::After(after, _) => {
                let after = after.as_ref().map_or("", ScheduleName::as_str);
                self.rows_while(SCHEDULES_AFTER, params![after, most], |row, at| {
                    Ok(read(row, at)?.is_none_or(|row| found.take(query, &mut bytes, row)))
                })?;
            }
            ScheduleQuery::Due(after, _) => {
                let next = self.value(SCHEDULE_NEXT, [now])?;
                found.next_due_in = next.map(|next| Timestamp::from_millis(next).since(self.now));
                let place = after.as_ref().map(|(at, name)| (at.as_millis(), name.as_str()));
                let (at, name) = place.unwrap_or((i64::MIN, ""));
                // The names first: to sort whole rows would hold all of them.
                for name in self.column::<String>(SCHEDULES_DUE, params![now, at, name, most])? {
                    let row = self.row(SCHEDULE, [name], read)?.flatten();
                    if row.is_some_and(|row| !found.take(query, &mut bytes, row)) {
                        break;
                    }
                }
            }
        }
        Ok(found)
    }

    pub(crate) fn change_schedule(&mut self, change: &ScheduleChange) -> Result<ScheduleChanged> {
        let name = change.name.as_str();
        let stored =
            self.row(SCHEDULE, [name], |row, at: &ScheduleColumns| row.get::<_, u64>(at.revision))?;
        if stored != change.seen {
            return Ok(ScheduleChanged::Stale);
        }
        if !self.has_room_for(&change.jobs)? {
            return Ok(ScheduleChanged::QueueFull { retry_after: queue_full_retry_after() });
        }
        if !change.jobs.is_empty() {
            self.enqueue(&change.jobs)?;
        }
        let Some((next_at, body)) = &change.to else {
            self.execute(SCHEDULE_DELETE, [name])?;
            return Ok(ScheduleChanged::Changed);
        };
        if stored.is_none() {
            let existing = self.value(SCHEDULE_COUNT, [])?.unwrap_or(0);
            self.limits.admit_schedule(existing).map_err(|error| error.on(&change.name))?;
        }
        let next_at = next_at.map(Timestamp::as_millis);
        let row = params![name, self.number()?, next_at, &body[..]];
        self.execute(SCHEDULE_PUT, row)?;
        Ok(ScheduleChanged::Changed)
    }

    /// Whether the queue of these jobs has room for all of them (R2.8).
    fn has_room_for(&mut self, jobs: &[NewJob]) -> Result<bool> {
        let Some(first) = jobs.first() else { return Ok(true) };
        let Some(queue) = self.queue(first.queue())? else { return Ok(true) };
        let pending = self.queues[queue].count(State::Pending);
        let Some(max) = self.queues[queue].settings.max_pending else { return Ok(true) };
        let mut new = 0;
        for job in jobs {
            new += u64::from(self.job(job.id())?.is_none());
        }
        Ok(new <= max.saturating_sub(pending))
    }
}

columns! {
    struct ScheduleColumns { name, revision, next_at, body }
}

/// Reads a row; none if it cannot be read as a schedule.
fn read(row: &Row<'_>, at: &ScheduleColumns) -> rusqlite::Result<Option<ScheduleRow>> {
    let Ok(name) = ScheduleName::new(row.get::<_, String>(at.name)?) else {
        return Ok(None);
    };
    Ok(Some(ScheduleRow {
        name,
        revision: row.get(at.revision)?,
        next_at: row.get::<_, Option<i64>>(at.next_at)?.map(Timestamp::from_millis),
        body: Bytes::from(row.get::<_, Vec<u8>>(at.body)?),
    }))
}
