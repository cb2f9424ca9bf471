//! Presence of workers (contract R3.9).

use std::time::Duration;

use queuekit_core::capability::{Beat, Served, WorkerInfo};
use queuekit_core::{LeaseTtl, Result, Timestamp, WorkerId};
use rusqlite::{Row, params};

use crate::row::unsigned;
use crate::statements::{WORKER, WORKERS};
use crate::step::Step;

impl Step<'_> {
    /// Skips a row that cannot be read as a worker.
    pub(crate) fn list_workers(&self) -> Result<Vec<WorkerInfo>> {
        let now = self.now;
        let read = |row: &Row<'_>| worker(row, now);
        let workers = self.rows(WORKERS, [now.as_millis()], read)?;
        Ok(workers.into_iter().flatten().collect())
    }

    pub(crate) fn find_worker(&self, id: &WorkerId) -> Result<Option<WorkerInfo>> {
        let now = self.now;
        let found = self.row(WORKER, params![now.as_millis(), id.as_str()], |row| worker(row, now));
        Ok(found?.flatten())
    }
}

fn worker(row: &Row<'_>, now: Timestamp) -> rusqlite::Result<Option<WorkerInfo>> {
    let text = |at: usize| row.get::<_, String>(at);
    let Ok(id) = WorkerId::new(text(0)?) else {
        return Ok(None);
    };
    let ttl = Duration::from_millis(unsigned(row.get(6)?));
    let (queues, kinds) = (Served::from_text(&text(2)?), Served::from_text(&text(3)?));
    let mut beat = Beat::new(id, queues, kinds, LeaseTtl::for_tests(ttl));
    beat.name = text(1)?;
    beat.slots = row.get(4)?;
    beat.running = row.get(5)?;
    let age = now.since(Timestamp::from_millis(row.get(7)?));
    Ok(Some(WorkerInfo::new(beat, age)))
}
