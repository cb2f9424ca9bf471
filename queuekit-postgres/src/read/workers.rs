//! Presence of workers (contract R3.9).

use std::time::Duration;

use queuekit_core::capability::{About, Beat, Served, WorkerInfo, WorkerPage};
use queuekit_core::limits::ANSWER_BYTES;
use queuekit_core::queue::WorkerCounts;
use queuekit_core::{LeaseTtl, PageSize, WorkerId};
use tokio_postgres::Row;

use crate::error::Outcome;
use crate::params::params;
use crate::row::unsigned;
use crate::session::Session;
use crate::statements::Sql;
use crate::step::orders;

/// Skips a row that cannot be read as a worker.
pub(crate) async fn list_workers(
    session: &Session<'_>,
    after: Option<&WorkerId>,
    limit: PageSize,
) -> Outcome<WorkerPage> {
    let after = after.map_or("", WorkerId::as_str);
    // One more than wanted shows whether there are more.
    let most = limit.get() as i64 + 1;
    let rows = session.query(Sql::Workers, params![after, most, ANSWER_BYTES as i64]).await?;
    let looked_at = rows.first().map_or(Ok(0), |row| row.try_get::<_, i64>("looked_at"))?;
    let mut page = WorkerPage::default();
    for row in rows.iter().take(limit.get()) {
        page.workers.extend(worker(row)?);
    }
    if looked_at > rows.len().min(limit.get()) as i64 {
        page.end();
    }
    Ok(page)
}

/// How many live workers serve each queue.
pub(crate) async fn worker_counts(session: &Session<'_>) -> Outcome<WorkerCounts> {
    let (mut counts, mut after) = (WorkerCounts::default(), None);
    loop {
        let page = list_workers(session, after.as_ref(), PageSize::MAX).await?;
        page.workers.iter().for_each(|worker| counts.add(&worker.beat));
        after = page.after;
        if after.is_none() {
            return Ok(counts);
        }
    }
}

/// Whether a live worker sent such a beat.
pub(crate) async fn any_worker(
    session: &Session<'_>,
    is: impl Fn(&Beat) -> bool + Send,
) -> Outcome<bool> {
    let mut after = None;
    loop {
        let page = list_workers(session, after.as_ref(), PageSize::MAX).await?;
        let found = page.workers.iter().any(|worker| is(&worker.beat));
        after = page.after;
        if found || after.is_none() {
            return Ok(found);
        }
    }
}

pub(crate) async fn find_worker(
    session: &Session<'_>,
    id: &WorkerId,
) -> Outcome<Option<WorkerInfo>> {
    let row = session.query(Sql::Worker, params![id.as_str()]).await?.pop();
    Ok(row.as_ref().map(worker).transpose()?.flatten())
}

fn worker(row: &Row) -> Result<Option<WorkerInfo>, tokio_postgres::Error> {
    let Ok(id) = WorkerId::new(row.try_get::<_, &str>("id")?) else {
        return Ok(None);
    };
    let ttl = Duration::from_millis(unsigned(row.try_get("ttl_ms")?));
    let queues = Served::from_text(row.try_get("queues")?);
    let kinds = Served::from_text(row.try_get("kinds")?);
    let mut beat = Beat::new(id, queues, kinds, LeaseTtl::for_tests(ttl));
    beat.name = row.try_get("name")?;
    beat.slots = row.try_get::<_, i32>("slots")?.cast_unsigned();
    beat.running = row.try_get::<_, i32>("running")?.cast_unsigned();
    beat.quiet_for = Duration::from_millis(unsigned(row.try_get("quiet_ms")?));
    beat.about = About::from_json(row.try_get("about")?);
    let age = Duration::from_millis(unsigned(row.try_get("age_ms")?));
    Ok(Some(WorkerInfo::new(beat, age).with_orders(orders(row)?)))
}
