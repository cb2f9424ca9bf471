//! Repair of derived data: which jobs with partition keys are in ready, and the counters.

use queuekit_core::capability::UpkeepReport;

use crate::counters;
use crate::error::Outcome;
use crate::params::params;
use crate::queues;
use crate::session::Session;
use crate::statements::Sql;

/// Queues with up to this many jobs are counted: more would take too long.
const COUNTED: i64 = 100_000;

/// Repairs the queue after the given one. Returns its number, none at the end.
pub(crate) async fn repair(
    session: &Session<'_>,
    after: i32,
) -> Outcome<(Option<i32>, UpkeepReport)> {
    let rows = session.query(Sql::RepairQueue, params![after]).await?;
    let Some(row) = rows.first() else {
        return Ok((None, UpkeepReport::default()));
    };
    let id: i32 = row.try_get("id")?;
    let mut changed = 0;
    session.begin().await?;
    let queues = queues::numbered(session, vec![id]).await?;
    if let Some(queue) = queues.first().filter(|queue| queue.keyed) {
        session.lock_queue(id).await?;
        // The next reserve looks at every key anew: that is cheaper than finding the keys that are
        // wrong.
        session.query(Sql::QueueUnplace, params![queue.id]).await?;
    }
    let figures = counters::figures(session, vec![id]).await?;
    if figures.first().is_some_and(|of| of.counts.iter().sum::<i64>() <= COUNTED) {
        let rows = session.query(Sql::RepairCounts, params![id]).await?;
        changed =
            rows.first().map_or(Ok(0), |row| row.try_get::<_, i64>("counters"))?.unsigned_abs();
    }
    session.commit().await?;
    Ok((Some(id), UpkeepReport::new(changed, true)))
}
