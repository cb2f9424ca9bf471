//! Retention of the log of events (contract R14.6). Whatever goes, deliveries that wait or run have
//! a copy of it first; dead ones have had theirs since they died.

use queuekit_core::event::{EventRetention, EventSettings};
use queuekit_core::{Result, Timestamp};

use super::days::{Day, days, of_day};
use super::event_log::{day_begins, number};
use crate::PostgresStore;
use crate::call::Call;
use crate::error::{Outcome, unreadable};
use crate::params::params;
use crate::session::Session;
use crate::statements::Sql;

/// Events, ids or deliveries that one statement changes.
const STEP: i32 = 1000;
/// Likewise while nobody else comes near the log: those that came since the last look.
const ALL: i64 = i64::MAX;
/// Statements of one call that copy.
const COPIES: usize = 20;

/// What one step found to do.
#[derive(Debug, Default)]
struct Removed {
    events: u64,
    more: bool,
}

impl PostgresStore {
    /// Drops the days that are beyond the age of retention, and removes events that are beyond its
    /// number: how many went, and whether there is more to do.
    pub(crate) async fn prune_events(&self) -> Result<(u64, bool)> {
        let old = self.call("prune", Call::Repeatable, (), |(), session| Box::pin(old(session)));
        let (retention, old) = old.await?;
        let mut removed = Removed::default();
        for day in &old {
            let dropped = self.drop_event_day(day).await;
            match dropped {
                Ok(dropped) => {
                    removed.events += dropped.events;
                    removed.more |= dropped.more;
                }
                Err(error) if error.is_held_up() => {
                    tracing::debug!(%error, day = day.name, "a day of the event log is in use");
                }
                Err(error) => {
                    tracing::warn!(%error, day = day.name, "a day of the event log is there still");
                }
            }
        }
        let beyond = self.call("prune", Call::Repeatable, retention, |retention, session| {
            Box::pin(beyond_number(session, *retention))
        });
        match beyond.await {
            Ok(beyond) => {
                removed.events += beyond.events;
                removed.more |= beyond.more;
            }
            Err(error) if error.is_held_up() => {
                tracing::debug!(%error, "the oldest events are in use; a later step removes them");
            }
            Err(error) => return Err(error),
        }
        Ok((removed.events, removed.more))
    }

    async fn drop_event_day(&self, day: &Day) -> Result<Removed> {
        let copied = self.call("prune", Call::Repeatable, day, |day, session| {
            Box::pin(copy_ahead(session, day))
        });
        let Some(events) = copied.await? else {
            return Ok(Removed { events: 0, more: true });
        };
        let dropped = self.call("prune", Call::Repeatable, (self, day), |input, session| {
            let (store, day) = *input;
            Box::pin(drop_day(store, session, day))
        });
        dropped.await?;
        Ok(Removed { events, more: true })
    }
}

/// Days of the log that are beyond the age of retention.
async fn old(session: &Session<'_>) -> Outcome<(EventRetention, Vec<Day>)> {
    let settings = session.query(Sql::EventSettings, params![]).await?;
    let body: &[u8] = settings.first().map_or(Ok(&[][..]), |row| row.try_get(1))?;
    let retention = EventSettings::read(body)?.retention;
    let now = now(session).await?;
    let mut old = days(session, "events").await?;
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
async fn forget_ids(session: &Session<'_>, first: &Day) -> Outcome<()> {
    let begins = day_begins(first.from_ms);
    for _ in 0..COPIES {
        let forgotten = session.write(Sql::EventIdsForget, params![begins, STEP]).await?;
        if forgotten.len() < STEP as usize {
            break;
        }
    }
    Ok(())
}

/// Copies what deliveries need of a day, a few at a time, while all others go on; how many events
/// the day has, or none if there are more to copy.
async fn copy_ahead(session: &Session<'_>, day: &Day) -> Outcome<Option<u64>> {
    let (first, end) = (day_begins(day.from_ms), day_begins(day.to_ms));
    for _ in 0..COPIES {
        let copied = session.write(Sql::EventsCopy, params![first, end, i64::from(STEP)]).await?;
        if copied.len() < STEP as usize {
            let count = session.query(Sql::EventsCount, params![first, end]).await?;
            let count: i64 = count.first().map_or(Ok(0), |row| row.try_get(0))?;
            return Ok(Some(count.unsigned_abs()));
        }
    }
    Ok(None)
}

/// Nobody comes near the log meanwhile: what is read there, and who makes deliveries of it or moves
/// them, waits, no longer than these few statements take.
async fn drop_day(store: &PostgresStore, session: &Session<'_>, day: &Day) -> Outcome<()> {
    session.begin().await?;
    session.control(Sql::EventsClose).await?;
    let (first, end) = (day_begins(day.from_ms), day_begins(day.to_ms));
    session.query(Sql::EventsCopy, params![first, end, ALL]).await?;
    session.execute(&of_day(store, Sql::DayDrop, day)).await?;
    session.commit().await
}

async fn beyond_number(session: &Session<'_>, retention: EventRetention) -> Outcome<Removed> {
    let now = now(session).await?;
    let mut beyond: Vec<i64> = Vec::new();
    for row in session.query(Sql::EventsOldest, params![STEP]).await? {
        let (place, at): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let last: i64 = row.try_get(2)?;
        let is_beyond = number(place) <= last.saturating_sub_unsigned(retention.events());
        // Those beyond the age go by days.
        if is_beyond && retention.lets_go(now.since(Timestamp::from_millis(at)), true) {
            beyond.push(place);
        }
    }
    let (Some(first), Some(last)) = (beyond.first().copied(), beyond.last().copied()) else {
        return Ok(Removed::default());
    };
    session.begin().await?;
    // Before all else: what is seen then of deliveries that others have made is all there is.
    session.query(Sql::EventsLock, params![beyond]).await?;
    session.query(Sql::EventsCopy, params![first, last + 1, ALL]).await?;
    let removed = session.query(Sql::EventsRemove, params![beyond]).await?.len();
    session.commit().await?;
    Ok(Removed { events: removed as u64, more: beyond.len() == STEP as usize })
}

async fn now(session: &Session<'_>) -> Outcome<Timestamp> {
    let now = session.query(Sql::Now, params![]).await?;
    let now = now.first().ok_or_else(|| unreadable("the store's clock"))?;
    Ok(Timestamp::from_millis(now.try_get(0)?))
}
