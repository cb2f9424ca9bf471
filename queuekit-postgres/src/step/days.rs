//! History and the log of events are partitioned by days: a partition that no retention keeps is
//! dropped as a whole.

use crate::call::Call;
use crate::error::Outcome;
use crate::params::params;
use crate::session::Session;
use crate::statements::Sql;
use crate::{PostgresStore, Prepared};
use queuekit_core::Result;
use queuekit_core::capability::UpkeepReport;
use tokio_postgres::Row;

/// How many days ahead partitions are made.
const AHEAD: i32 = 7;
/// The number of the lock of the schema.
pub(crate) const SCHEMA: i32 = 0;

/// A partition.
#[derive(Debug)]
pub(super) struct Day {
    pub(super) name: String,
    pub(super) from_ms: i64,
    pub(super) to_ms: i64,
    is_pending: bool,
    is_attached: bool,
}

/// Makes the missing partitions of history and of the log of events.
pub(crate) async fn add_days(session: &Session<'_>, lock_class: i32) -> Outcome<()> {
    session.begin().await?;
    session.query(Sql::LockQueue, params![SCHEMA, lock_class]).await?;
    session.query(Sql::AddDays, params![AHEAD]).await?;
    session.commit().await
}

impl PostgresStore {
    /// Does the same as [`add_days`], as a call of its own.
    pub(crate) async fn add_days(&self) -> Result<()> {
        let lock_class = self.shared.lock_class;
        let added = self.call("add_days", Call::Repeatable, lock_class, |lock_class, session| {
            Box::pin(add_days(session, *lock_class))
        });
        added.await
    }

    /// Drops the days that no queue keeps any more, and takes their jobs off the counters. A day
    /// that is in use and all later ones are left for the next time: a day can be detached only
    /// while no open transaction uses the history, whichever day it reads.
    pub(crate) async fn drop_days(&self) -> Result<UpkeepReport> {
        let mut report = UpkeepReport::default();
        let old = self.call("prune", Call::Upkeep, (), |(), session| Box::pin(old(session)));
        for day in old.await? {
            let dropped = self.call("prune", Call::Upkeep, (self, &day), |input, session| {
                let (store, day) = *input;
                Box::pin(drop_day(store, session, day))
            });
            match dropped.await {
                Ok(jobs) => {
                    report.changed += jobs;
                    report.more |= jobs > 0;
                }
                Err(error) if error.is_held_up() => {
                    tracing::debug!(%error, day = day.name, "a day of history is in use");
                    report.held = true;
                    break;
                }
                Err(error) => {
                    let day = &day.name;
                    tracing::warn!(
                        %error, day, "a day of history was not dropped; if it is too large to be \
                        counted in time, raise statement_timeout_ms and op_timeout_ms"
                    );
                }
            }
        }
        Ok(report)
    }
}

async fn old(session: &Session<'_>) -> Outcome<Vec<Day>> {
    let now = session.query(Sql::Now, params![]).await?;
    let now: i64 = now.first().map_or(Ok(0), |row| row.try_get("now"))?;
    let mut old = Vec::new();
    for day in days(session, "done").await? {
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
pub(super) async fn days(session: &Session<'_>, table: &str) -> Outcome<Vec<Day>> {
    let day = |row: &Row| {
        Ok(Day {
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
async fn drop_day(store: &PostgresStore, session: &Session<'_>, day: &Day) -> Outcome<u64> {
    let detach = of_day(store, Sql::DayDetach, day);
    if store.shared.prepared == Prepared::Off {
        // Behind a pooler no setting may outlive a transaction, and no transaction can detach
        // concurrently. So this waits for readers of the history, and others wait for it, but not
        // for long.
        session.begin().await?;
        if day.is_attached {
            let end = if day.is_pending { " FINALIZE" } else { "" };
            session.execute(&format!("{detach}{end}")).await?;
        }
        return count_and_drop(store, session, day).await;
    }
    if day.is_attached {
        let end = if day.is_pending { "FINALIZE" } else { "CONCURRENTLY" };
        session.execute(&format!("{detach} {end}")).await?;
    }
    session.begin().await?;
    count_and_drop(store, session, day).await
}

async fn count_and_drop(store: &PostgresStore, session: &Session<'_>, day: &Day) -> Outcome<u64> {
    let jobs = session.number(&of_day(store, Sql::CountDay, day), "jobs").await?;
    session.execute(&of_day(store, Sql::DayDrop, day)).await?;
    session.commit().await?;
    Ok(jobs.unsigned_abs())
}

/// A statement with the table name `day` replaced by this partition's.
pub(super) fn of_day(store: &PostgresStore, sql: Sql, day: &Day) -> String {
    let schema = store.shared.schema.as_str();
    let text = store.shared.statements.text(sql).trim_end();
    text.replace(&format!("{schema}.day"), &format!("{schema}.{}", day.name))
}
