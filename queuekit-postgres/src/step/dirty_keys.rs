//! Partition keys whose next job may have changed (the table `agenda`): each call that changes one
//! adds it, and the next reserve looks at it under the queue's lock.

use super::hints::Hints;
use crate::error::{Outcome, unreadable};
use crate::params::params;
use crate::queues::QueueRow;
use crate::session::Session;
use crate::statements::Sql;

/// The most dirty keys that one statement looks at.
const KEYS: i32 = 1000;
/// After this many keys one call leases what it has found, and leaves the rest to the next call.
const KEYS_PER_CALL: i64 = 20_000;

/// Puts the next job of each dirty key of a queue into ready. The row was read under the queue's
/// lock.
pub(super) async fn place(session: &Session<'_>, hints: &Hints, row: &QueueRow) -> Outcome<()> {
    let after_ms = hints.visited(row.id);
    let heads = row.settings.per_key == 1 && !row.skips_waiting();
    let sql = if heads { Sql::PlaceHeads } else { Sql::Place };
    let mut seen = 0;
    while seen < KEYS_PER_CALL {
        if row.skips_waiting() {
            session.query(Sql::PlaceDue, params![row.id, KEYS]).await?;
        }
        let rows = session.query(sql, params![row.id, KEYS, after_ms]).await?;
        let first = rows.first().ok_or_else(|| unreadable("the answer to a look at keys"))?;
        let entries: i64 = first.try_get("entries")?;
        seen += entries;
        for first in &rows {
            if let Some(rank) = first.try_get::<_, Option<i16>>("rank")? {
                let place = (first.try_get("at")?, first.try_get("seq")?);
                hints.came_back((row.id, rank), place);
            }
        }
        // Fewer than asked for: every entry up to now was looked at.
        if entries < i64::from(KEYS) {
            hints.visited_until(row.id, first.try_get("now")?);
            break;
        }
    }
    Ok(())
}
