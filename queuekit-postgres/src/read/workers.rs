//! Presence of workers (contract R3.9).

use std::time::Duration;

use queuekit_core::capability::{Beat, Served, WorkerInfo};
use queuekit_core::{LeaseTtl, WorkerId};
use tokio_postgres::Row;

use crate::error::Outcome;
use crate::params::params;
use crate::row::unsigned;
use crate::session::Session;
use crate::statements::Sql;

/// Skips a row that cannot be read as a worker.
pub(crate) async fn workers(session: &Session<'_>) -> Outcome<Vec<WorkerInfo>> {
    let rows = session.query(Sql::Workers, params![]).await?;
    let mut workers = Vec::with_capacity(rows.len());
    for row in &rows {
        workers.extend(worker(row)?);
    }
    Ok(workers)
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
    Ok(Some(WorkerInfo::new(beat, Duration::from_millis(unsigned(row.try_get("age_ms")?)))))
}
