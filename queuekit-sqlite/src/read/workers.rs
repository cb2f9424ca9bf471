//! Presence of workers (contract R3.9).

use std::time::Duration;

use queuekit_core::backend::{AnswerBytes, PageSize};
use queuekit_core::capability::{About, Beat, Served, WorkerInfo, WorkerPage};
use queuekit_core::queue::WorkerCounts;
use queuekit_core::{LeaseTtl, Result, Timestamp, WorkerId};
use rusqlite::{Row, params};

use crate::column_names::columns;
use crate::row::unsigned;
use crate::statements::{WORKER, WORKERS};
use crate::step::Step;
use crate::step::presence::{OrderColumns, orders};

impl Step<'_> {
    /// Skips a row that cannot be read as a worker.
    pub(crate) fn list_workers(
        &self,
        after: Option<&WorkerId>,
        limit: PageSize,
    ) -> Result<WorkerPage> {
        let (mut page, mut bytes) = (WorkerPage::default(), AnswerBytes::default());
        self.each_worker(after, |worker| page.take(limit, &mut bytes, worker))?;
        Ok(page)
    }

    /// Whether a live worker sent such a beat.
    pub(crate) fn any_worker(&self, is: impl Fn(&Beat) -> bool) -> Result<bool> {
        let mut found = false;
        self.each_worker(None, |worker| {
            found = is(&worker.beat);
            !found
        })?;
        Ok(found)
    }

    pub(crate) fn worker_counts(&self) -> Result<WorkerCounts> {
        let mut counts = WorkerCounts::default();
        self.each_worker(None, |worker| {
            counts.add(&worker.beat);
            true
        })?;
        Ok(counts)
    }

    /// Reads the live workers by id, until `take` refuses one.
    fn each_worker(
        &self,
        after: Option<&WorkerId>,
        mut take: impl FnMut(WorkerInfo) -> bool,
    ) -> Result<()> {
        let now = self.now;
        let after = after.map_or("", WorkerId::as_str);
        self.rows_while(WORKERS, params![now.as_millis(), after], |row, at: &Found| {
            Ok(worker(row, at, now)?.is_none_or(&mut take))
        })
    }

    pub(crate) fn find_worker(&self, id: &WorkerId) -> Result<Option<WorkerInfo>> {
        let now = self.now;
        let read = |row: &Row<'_>, at: &Found| worker(row, at, now);
        let found = self.row(WORKER, params![now.as_millis(), id.as_str()], read)?;
        Ok(found.flatten())
    }
}

columns! {
    struct WorkerColumns { id, name, queues, kinds, slots, running, ttl_ms, at, quiet_ms, about }
}

type Found = (WorkerColumns, OrderColumns);

fn worker(
    row: &Row<'_>,
    (at, at_orders): &Found,
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
    beat.quiet_for = Duration::from_millis(unsigned(row.get(at.quiet_ms)?));
    beat.about = About::from_json(&text(at.about)?);
    let age = now.since(Timestamp::from_millis(row.get(at.at)?));
    Ok(Some(WorkerInfo::new(beat, age).with_orders(orders(row, at_orders)?)))
}
