//! History and the log of events are partitioned by days: a partition that no retention keeps is
//! dropped as a whole.

use tokio_postgres::Row;

use crate::error::Outcome;
use crate::params::params;
use crate::session::Session;
use crate::statements::Sql;

/// How many days ahead partitions are made.
const AHEAD: i32 = 7;
/// The number of the lock of the schema.
pub(crate) const SCHEMA: i32 = 0;

/// A partition.
#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) name: String,
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
    is_pending: bool,
    is_attached: bool,
}

/// Makes the missing partitions of history and of the log of events.
pub(crate) async fn add_partitions(session: &Session<'_>) -> Outcome<()> {
    session.begin().await?;
    // Two processes must not create the same partition.
    session.lock(SCHEMA).await?;
    session.query(Sql::AddDays, params![AHEAD]).await?;
    session.commit().await
}

/// The days that no queue keeps any more.
pub(crate) async fn old_days(session: &Session<'_>) -> Outcome<Vec<Partition>> {
    let now = session.now().await?.as_millis();
    let mut old = Vec::new();
    for day in partitions(session, "done").await? {
        // Today and the days after it are not over yet.
        if day.to_ms > now {
            break;
        }
        let kept = if day.is_attached && !day.is_pending {
            let kept = session.query(Sql::DayIsKept, params![day.from_ms, day.to_ms]).await?;
            kept.first().map_or(Ok(true), |row| row.try_get("is_kept"))?
        } else {
            false
        };
        if !kept {
            old.push(day);
        }
    }
    Ok(old)
}

/// The partitions of a table, in order.
pub(crate) async fn partitions(session: &Session<'_>, table: &str) -> Outcome<Vec<Partition>> {
    let day = |row: &Row| {
        Ok(Partition {
            name: row.try_get("name")?,
            from_ms: row.try_get("from_ms")?,
            to_ms: row.try_get("to_ms")?,
            is_pending: row.try_get("is_pending")?,
            is_attached: row.try_get("is_attached")?,
        })
    };
    session.query(Sql::Days, params![table]).await?.iter().map(day).collect()
}

/// Detaches, counts and drops a day. If it is interrupted, the next time continues from there.
pub(crate) async fn drop_day(session: &Session<'_>, day: &Partition) -> Outcome<u64> {
    let detach = of_day(session, Sql::DayDetach, day);
    if session.is_pooled() {
        // Behind a pooler no setting may outlive a transaction, and no transaction can detach
        // concurrently. So this waits for readers of the history, and others wait for it, but not
        // for long.
        session.begin().await?;
        if day.is_attached {
            let end = if day.is_pending { " FINALIZE" } else { "" };
            session.execute(&format!("{detach}{end}")).await?;
        }
        return count_and_drop(session, day).await;
    }
    if day.is_attached {
        // CONCURRENTLY lets readers of the history continue. A detach that was interrupted can only
        // be finalized.
        let end = if day.is_pending { "FINALIZE" } else { "CONCURRENTLY" };
        session.execute(&format!("{detach} {end}")).await?;
    }
    session.begin().await?;
    count_and_drop(session, day).await
}

async fn count_and_drop(session: &Session<'_>, day: &Partition) -> Outcome<u64> {
    let jobs = session.number(&of_day(session, Sql::CountDay, day), "jobs").await?;
    session.execute(&of_day(session, Sql::DayDrop, day)).await?;
    session.commit().await?;
    Ok(jobs.unsigned_abs())
}

/// A statement with the table name `day` replaced by this partition's.
pub(crate) fn of_day(session: &Session<'_>, sql: Sql, day: &Partition) -> String {
    let schema = session.statements.schema.as_str();
    let text = session.statements.text(sql).trim_end();
    text.replace(&format!("{schema}.day"), &format!("{schema}.{}", day.name))
}
