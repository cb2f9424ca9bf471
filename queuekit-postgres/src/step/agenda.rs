//! Looks at the partition keys of a queue whose jobs have changed.

use crate::PostgresStore;
use crate::error::{Outcome, unreadable};
use crate::params::params;
use crate::queues::QueueRow;
use crate::session::Session;
use crate::statements::Sql;

/// The most entries of the agenda that one statement looks at.
const ENTRIES: i32 = 1000;
/// After this many entries one call leases what it has found, and leaves the rest to the next call.
const ENTRIES_PER_CALL: i64 = 20_000;

pub(super) async fn lock(
    store: &PostgresStore,
    session: &Session<'_>,
    row: &QueueRow,
) -> Outcome<()> {
    session.query(Sql::LockQueue, params![row.id, store.shared.lock_class]).await.map(drop)
}

/// Looks at the keys that are on the queue's agenda. The row was read under the queue's lock.
pub(super) async fn place(
    store: &PostgresStore,
    session: &Session<'_>,
    row: &QueueRow,
) -> Outcome<()> {
    let after_ms = store.shared.hints.visited(row.id);
    let heads = row.settings.per_key == 1 && !row.skips_waiting();
    let sql = if heads { Sql::PlaceHeads } else { Sql::Place };
    let mut seen = 0;
    while seen < ENTRIES_PER_CALL {
        if row.skips_waiting() {
            session.query(Sql::PlaceDue, params![row.id, ENTRIES]).await?;
        }
        let rows = session.query(sql, params![row.id, ENTRIES, after_ms]).await?;
        let first = rows.first().ok_or_else(|| unreadable("the answer to a look at keys"))?;
        let entries: i64 = first.try_get("entries")?;
        seen += entries;
        for first in &rows {
            if let Some(rank) = first.try_get::<_, Option<i16>>("rank")? {
                let place = (first.try_get("at")?, first.try_get("seq")?);
                store.shared.hints.came_back((row.id, rank), place);
            }
        }
        if entries < i64::from(ENTRIES) {
            store.shared.hints.visited_until(row.id, first.try_get("now")?);
            break;
        }
    }
    Ok(())
}
