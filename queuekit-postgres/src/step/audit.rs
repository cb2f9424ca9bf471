//! Rows of the audit log (contract R8.6).

use queuekit_core::capability::{Act, AuditEntry};
use queuekit_core::{PageSize, Timestamp};
use tokio_postgres::Row;

use crate::error::Outcome;
use crate::params::params;
use crate::session::Session;
use crate::statements::Sql;

pub(crate) async fn record_act(session: &Session<'_>, act: &Act, kept: usize) -> Outcome<()> {
    // Guard: only the latest entries are kept.
    let kept = i64::try_from(kept).unwrap_or(i64::MAX);
    session.query(Sql::AuditInsert, params![act.to_text(), kept]).await?;
    Ok(())
}

pub(crate) async fn list_acts(
    session: &Session<'_>,
    before: Option<u64>,
    limit: PageSize,
) -> Outcome<Vec<AuditEntry>> {
    let before = before.map(|before| i64::try_from(before).unwrap_or(i64::MAX));
    let most = i64::try_from(limit.get()).unwrap_or(i64::MAX);
    let rows = session.query(Sql::AuditBefore, params![before, most]).await?;
    let entries: Result<Vec<_>, _> = rows.iter().map(entry).collect();
    Ok(entries?.into_iter().flatten().collect())
}

/// None if its act cannot be read.
fn entry(row: &Row) -> Result<Option<AuditEntry>, tokio_postgres::Error> {
    let seq = row.try_get::<_, i64>("seq")?.unsigned_abs();
    let at = Timestamp::from_millis(row.try_get("at")?);
    let act = Act::from_text(row.try_get("act")?);
    Ok(act.map(|act| AuditEntry { seq, at, act }))
}
