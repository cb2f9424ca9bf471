//! Presence of workers (contract R3.9).

use std::time::Duration;

use queuekit_core::capability::{Beat, Served, WorkerInfo};
use queuekit_core::{LeaseTtl, Result, Timestamp, WorkerId};
use rusqlite::{Row, params};

use crate::column_names::columns;
use crate::row::unsigned;
use crate::statements::{WORKER, WORKERS};
use crate::step::Step;

impl Step<'_> {
    /// Skips a row that cannot be read as a worker.
    pub(crate) fn list_workers(&self) -> Result<Vec<WorkerInfo>> {
        let now = self.now;
        let read = |row: &Row<'_>, at: &WorkerColumns| worker(row, at, now);
        let workers = self.rows(WORKERS, [now.as_millis()], read)?;
        Ok(workers.into_iter().flatten().collect())
    }

    pub(crate) fn find_worker(&self, id: &WorkerId) -> Result<Option<WorkerInfo>> {
        let now = self.now;
        let read = |row: &Row<'_>, at: &WorkerColumns| worker(row, at, now);
        let found = self.row(WORKER, params![now.as_millis(), id.as_str()], read)?;
        Ok(found.flatten())
    }
}

columns! {
    struct WorkerColumns { id, name, queues, kinds, slots, running, ttl_ms, at }
}

fn worker(
    row: &Row<'_>,
    at: &WorkerColumns,
    now: Timestamp,
) -> rusqlite::Result<Option<WorkerInfo>> {
    let text = |at: usize| row.get::<_, String>(at);
    let Ok(id) = WorkerId::new(text(at.id)?) else {
        return Ok(None);
    };
    let ttl = Duration::from_millis(unsigned(row.get(at.ttl_ms)?));
    let (queues, kinds) =
        (Served::from_text(&text(at.queues)?), Served::from_text(&text(at.kinds)?));
    let mut beat = Beat::new(id, queues, kinds, LeaseTtl::for_tests(ttl));
    beat.name = text(at.name)?;
    beat.slots = row.get(at.slots)?;
    beat.running = row.get(at.running)?;
    let age = now.since(Timestamp::from_millis(row.get(at.at)?));
    Ok(Some(WorkerInfo::new(beat, age)))
}
