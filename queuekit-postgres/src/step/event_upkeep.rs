//! Retention of the log of events (contract R14.6). Before an event is removed, its deliveries that
//! wait or run get a copy of its data; dead ones got theirs when they died.

use queuekit_core::Timestamp;
use queuekit_core::capability::UpkeepReport;
use queuekit_core::event::{EventRetention, EventSettings};

use super::event_log::{day_begins, number};
use crate::error::{Failure, Outcome};
use crate::params::params;
use crate::partitions::{Partition, of_day, partitions};
use crate::session::Session;
use crate::statements::Sql;

/// The most events, ids or deliveries that one statement changes.
const STEP: i32 = 1000;
/// The same while no other call can reach the log: all deliveries made since the last look.
const ALL: i64 = i64::MAX;
/// The most copying statements of one call.
const COPIES: usize = 20;

/// Days of the log that are beyond the age of retention.
pub(crate) async fn old_event_days(
    session: &Session<'_>,
) -> Outcome<(EventRetention, Vec<Partition>)> {
    let settings = session.query(Sql::EventSettings, params![]).await?;
    let body: &[u8] = settings.first().map_or(Ok(&[][..]), |row| row.try_get("body"))?;
    let retention = EventSettings::read(body)?.retention;
    let now = session.now().await?;
    let mut old = partitions(session).await?;
    let first_kept = old
        .iter()
        .position(|day| !retention.lets_go(now.since(Timestamp::from_millis(day.to_ms)), false));
    let kept = old.split_off(first_kept.unwrap_or(old.len()));
    if old.is_empty()
        && let Some(first) = kept.first()
    {
        forget_ids(session, first).await?;
    }
    Ok((retention, old))
}

/// Ids and keys of events whose days are gone.
async fn forget_ids(session: &Session<'_>, first: &Partition) -> Outcome<()> {
    let begins = day_begins(first.from_ms);
    for _ in 0..COPIES {
        let forgotten = session.write(Sql::EventIdsForget, params![begins, STEP]).await?;
        if forgotten.len() < STEP as usize {
            break;
        }
    }
    Ok(())
}

/// Copies the data that deliveries need of a day, in small steps, while others use the log. Returns
/// how many events the day has, or none if there is more to copy.
pub(crate) async fn copy_events_ahead(
    session: &Session<'_>,
    day: &Partition,
) -> Outcome<Option<u64>> {
    let (first, end) = (day_begins(day.from_ms), day_begins(day.to_ms));
    for _ in 0..COPIES {
        let copied = session.write(Sql::EventsCopy, params![first, end, i64::from(STEP)]).await?;
        if copied.len() < STEP as usize {
            // Checks this before the log is closed to others.
            check_copied(session, first, end).await?;
            let count = session.query(Sql::EventsCount, params![first, end]).await?;
            let count: i64 = count.first().map_or(Ok(0), |row| row.try_get("events"))?;
            return Ok(Some(count.unsigned_abs()));
        }
    }
    Ok(None)
}

/// Fails if deliveries still need this part of the log: then open transactions hold them.
async fn check_copied(session: &Session<'_>, first: i64, end: i64) -> Outcome<()> {
    let needed = session.query(Sql::EventsNeeded, params![first, end]).await?;
    if needed.first().map_or(Ok(false), |row| row.try_get("is_needed"))? {
        let message = "an open transaction holds deliveries of an expired day; end it";
        return Err(Failure::held_up(message));
    }
    Ok(())
}

/// Drops a day while the log is closed to others: readers of the log, and those who make or change
/// deliveries of it, wait as long as these few statements take.
pub(crate) async fn drop_event_day(session: &Session<'_>, day: &Partition) -> Outcome<()> {
    session.begin().await?;
    session.control(Sql::EventsClose).await?;
    let (first, end) = (day_begins(day.from_ms), day_begins(day.to_ms));
    session.query(Sql::EventsCopy, params![first, end, ALL]).await?;
    check_copied(session, first, end).await?;
    session.execute(&of_day(session, Sql::DayDrop, day)).await?;
    session.commit().await
}

pub(crate) async fn remove_events_beyond(
    session: &Session<'_>,
    retention: EventRetention,
) -> Outcome<UpkeepReport> {
    let now = session.now().await?;
    let mut beyond: Vec<i64> = Vec::new();
    for row in session.query(Sql::EventsOldest, params![STEP]).await? {
        let (place, at): (i64, i64) = (row.try_get("seq")?, row.try_get("emitted_at")?);
        let last: i64 = row.try_get("last")?;
        let is_beyond = number(place) <= last.saturating_sub_unsigned(retention.events());
        // Events beyond the age are dropped by days.
        if is_beyond && retention.lets_go(now.since(Timestamp::from_millis(at)), true) {
            beyond.push(place);
        }
    }
    session.begin().await?;
    // First of all: after this lock nobody makes further deliveries, so the next statement sees all
    // of them.
    let mut locked: Vec<i64> = Vec::new();
    for row in session.query(Sql::EventsLock, params![beyond]).await? {
        locked.push(row.try_get("seq")?);
    }
    let (Some(first), Some(last)) = (locked.first().copied(), locked.last().copied()) else {
        return Ok(UpkeepReport::default().held(!beyond.is_empty()));
    };
    session.query(Sql::EventsCopy, params![first, last + 1, ALL]).await?;
    let removed = session.query(Sql::EventsRemove, params![locked]).await?.len();
    session.commit().await?;
    Ok(UpkeepReport::new(removed as u64, removed > 0 && beyond.len() == STEP as usize)
        .held(removed < beyond.len()))
}
