//! Rows of schedules (contract R15).

use queuekit_core::backend::AnswerBytes;
use queuekit_core::capability::{
    ScheduleChange, ScheduleChanged, ScheduleQuery, ScheduleRow, ScheduleRows,
};
use queuekit_core::limits::ANSWER_BYTES;
use queuekit_core::retry::queue_full_retry_after;
use queuekit_core::{Bytes, EnqueueOutcome, Limits, ScheduleName, Timestamp};
use tokio_postgres::Row;

use super::enqueue::Asked;
use super::lease::bytes;
use crate::error::{Outcome, unreadable};
use crate::params::params;
use crate::session::Session;
use crate::statements::Sql;

/// The number of the lock for creating a schedule.
const CREATION: i32 = -3;
/// The most transactions that may create schedules at once; a server has fewer connections.
const AT_ONCE: usize = 1000;

pub(crate) async fn find_schedules(
    session: &Session<'_>,
    query: &ScheduleQuery,
) -> Outcome<ScheduleRows> {
    // One more than wanted shows whether there are more.
    let most = bytes(query.limit().saturating_add(1));
    let most_bytes = bytes(ANSWER_BYTES);
    let rows = match query {
        ScheduleQuery::Named(name) => session.query(Sql::Schedule, params![name.as_str()]).await?,
        ScheduleQuery::After(after, _) => {
            let after = after.as_ref().map_or("", ScheduleName::as_str);
            session.query(Sql::SchedulesAfter, params![after, most, most_bytes]).await?
        }
        ScheduleQuery::Due(after, _) => {
            let place = after.as_ref().map(|(at, name)| (at.as_millis(), name.as_str()));
            let (at, name) = place.unwrap_or((i64::MIN, ""));
            session.query(Sql::SchedulesDue, params![most, at, name, most_bytes]).await?
        }
    };
    let first = rows.first().ok_or_else(|| unreadable("the store's clock"))?;
    let now = Timestamp::from_millis(first.try_get("now")?);
    let next: Option<i64> = match query {
        ScheduleQuery::Due(..) => first.try_get("next_due_at")?,
        ScheduleQuery::Named(_) | ScheduleQuery::After(..) => None,
    };
    let next_due_in = next.map(|next| Timestamp::from_millis(next).since(now));
    let mut found = ScheduleRows { now, next_due_in, ..ScheduleRows::default() };
    if let ScheduleQuery::Named(_) = query {
        found.rows.extend(schedule(first)?);
        return Ok(found);
    }
    let mut of_answer = AnswerBytes::default();
    for row in &rows {
        if schedule(row)?.is_some_and(|row| !found.take(query, &mut of_answer, row)) {
            return Ok(found);
        }
    }
    // The statement has left out those that do not fit.
    let looked_at: Option<i64> = first.try_get("looked_at")?;
    if looked_at.is_some_and(|looked_at| looked_at > bytes(rows.len())) {
        found.end(query);
    }
    Ok(found)
}

/// Changes a schedule in a transaction of its own; none if the cached rows of the queues are out of
/// date.
pub(crate) async fn change_schedule(
    session: &Session<'_>,
    limits: &Limits,
    change: &ScheduleChange,
    asked: &Asked<'_>,
) -> Outcome<Option<ScheduleChanged>> {
    session.begin().await?;
    if !move_row(session, limits, change).await? {
        return Ok(Some(ScheduleChanged::Stale));
    }
    if !change.jobs.is_empty() {
        let Some(outcomes) = asked.store_any(session).await? else { return Ok(None) };
        let full = |outcome: &EnqueueOutcome| matches!(outcome, EnqueueOutcome::QueueFull { .. });
        if outcomes.iter().any(full) {
            let retry_after = queue_full_retry_after();
            return Ok(Some(ScheduleChanged::QueueFull { retry_after }));
        }
    }
    session.commit().await?;
    Ok(Some(ScheduleChanged::Changed))
}

/// Writes the row; false if it is no longer the one that was read.
async fn move_row(
    session: &Session<'_>,
    limits: &Limits,
    change: &ScheduleChange,
) -> Outcome<bool> {
    let name = change.name.as_str();
    let seen = change.seen.map(u64::cast_signed);
    let rows = match (seen, &change.to) {
        (None, Some((next_at, body))) => {
            let next_at = next_at.map(Timestamp::as_millis);
            admit(session, limits).await?.map_err(|error| error.on(&change.name))?;
            session.query(Sql::ScheduleInsert, params![name, next_at, &body[..]]).await?
        }
        (Some(seen), Some((next_at, body))) => {
            let next_at = next_at.map(Timestamp::as_millis);
            session.query(Sql::ScheduleUpdate, params![name, seen, next_at, &body[..]]).await?
        }
        (Some(seen), None) => session.query(Sql::ScheduleDelete, params![name, seen]).await?,
        (None, None) => {
            let rows = session.query(Sql::Schedule, params![name]).await?;
            let found = rows.first().map(schedule).transpose()?.flatten();
            return Ok(found.is_none());
        }
    };
    Ok(!rows.is_empty())
}

/// Whether there is room for one more schedule.
async fn admit(session: &Session<'_>, limits: &Limits) -> Outcome<queuekit_core::Result<()>> {
    let mut existing = count(session).await?;
    if existing + AT_ONCE >= limits.schedules() {
        // One after the other: two calls that count at once would both find room for the last one.
        session.lock(CREATION).await?;
        existing = count(session).await?;
    }
    Ok(limits.admit_schedule(existing))
}

async fn count(session: &Session<'_>) -> Outcome<usize> {
    let rows = session.query(Sql::ScheduleCount, params![]).await?;
    let existing: i64 = rows.first().map_or(Ok(0), |row| row.try_get("schedules"))?;
    Ok(usize::try_from(existing).unwrap_or(usize::MAX / 2))
}

/// None for the row that has only the time, and for a row that cannot be read as a schedule.
fn schedule(row: &Row) -> Result<Option<ScheduleRow>, tokio_postgres::Error> {
    let name: Option<&str> = row.try_get("name")?;
    let Some(Ok(name)) = name.map(ScheduleName::new) else { return Ok(None) };
    Ok(Some(ScheduleRow {
        name,
        revision: row.try_get::<_, i64>("revision")?.cast_unsigned(),
        next_at: row.try_get::<_, Option<i64>>("next_at")?.map(Timestamp::from_millis),
        body: Bytes::from(row.try_get::<_, Vec<u8>>("body")?),
    }))
}
