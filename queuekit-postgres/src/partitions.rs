//! The log of events is partitioned by days: one that retention no longer keeps is dropped as a
//! whole.

use tokio_postgres::Row;

use crate::error::Outcome;
use crate::params::params;
use crate::session::Session;
use crate::statements::Sql;

/// How many days ahead partitions are made.
const AHEAD: i32 = 7;
/// The number of the lock of the schema.
pub(crate) const SCHEMA: i32 = 0;

/// A day of the log.
#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) name: String,
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
}

/// Makes the missing partitions.
pub(crate) async fn add_partitions(session: &Session<'_>) -> Outcome<()> {
    session.begin().await?;
    // Two processes must not create the same partition.
    session.lock(SCHEMA).await?;
    session.query(Sql::EventDaysAdd, params![AHEAD]).await?;
    session.commit().await
}

/// The partitions, in order.
pub(crate) async fn partitions(session: &Session<'_>) -> Outcome<Vec<Partition>> {
    let day = |row: &Row| {
        Ok(Partition {
            name: row.try_get("name")?,
            from_ms: row.try_get("from_ms")?,
            to_ms: row.try_get("to_ms")?,
        })
    };
    session.query(Sql::EventDays, params![]).await?.iter().map(day).collect()
}

/// A statement with the table name `day` replaced by this partition's.
pub(crate) fn of_day(session: &Session<'_>, sql: Sql, day: &Partition) -> String {
    let schema = session.statements.schema.as_str();
    let text = session.statements.text(sql).trim_end();
    text.replace(&format!("{schema}.day"), &format!("{schema}.{}", day.name))
}
