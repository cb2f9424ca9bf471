//! Reading the log of events (contract R14.5).

use queuekit_core::backend::AnswerBytes;
use queuekit_core::capability::{EventFilter, EventPage};
use queuekit_core::event::{Event, EventId};
use queuekit_core::{Bytes, IdempotencyKey, Kind, PartitionKey, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::Outcome;
use crate::params::params;
use crate::session::Session;
use crate::statements::Sql;

/// The most events that one listing looks at.
const EXAMINED: usize = 10_000;
const DAY_MS: i64 = 86_400_000;
/// Bits of the number in a place, below the day.
const NUMBER_BITS: u32 = 44;

/// The place at which a day of the log begins.
pub(super) fn day_begins(at_ms: i64) -> i64 {
    at_ms.div_euclid(DAY_MS) << NUMBER_BITS
}

/// The number of the event at a place.
pub(super) fn number(place: i64) -> i64 {
    place & ((1 << NUMBER_BITS) - 1)
}

pub(super) fn event_uuid(id: EventId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}

pub(super) fn event_id(uuid: Uuid) -> EventId {
    EventId::from_bytes(uuid.into_bytes())
}

/// Lists events, in a transaction that sees one instant.
pub(crate) async fn list_events(session: &Session<'_>, filter: &EventFilter) -> Outcome<EventPage> {
    session.begin_snapshot().await?;
    let now = session.now().await?;
    let end = session.query(Sql::EventsLast, params![]).await?;
    let end: i64 = end.first().map_or(Ok(0), |row| row.try_get("seq"))?;
    let end = end.cast_unsigned();
    let mut page = EventPage { now, end, ..EventPage::default() };
    let mut last = begin(session, filter).await?;
    let limit = filter.limit.get();
    let (mut wanted, mut examined, mut bytes) = (Vec::new(), 0, AnswerBytes::default());
    while page.cursor.is_none() && examined < EXAMINED {
        let rows = session.query(Sql::EventsAfter, params![last, limit as i32]).await?;
        examined += rows.len();
        for row in &rows {
            if wanted.len() == limit {
                page.cursor = Some(last.cast_unsigned());
                break;
            }
            let place: i64 = row.try_get("seq")?;
            if filter.ends_before(place.cast_unsigned()) {
                return finish(session, wanted, page).await;
            }
            let kind = row.try_get::<_, &str>("kind")?;
            let at = Timestamp::from_millis(row.try_get("emitted_at")?);
            if Kind::new(kind).is_ok_and(|kind| filter.admits(&kind, at)) {
                let of_event = row.try_get::<_, i32>("bytes")?;
                if !bytes.admit(usize::try_from(of_event).unwrap_or_default()) {
                    page.cursor = Some(last.cast_unsigned());
                    return finish(session, wanted, page).await;
                }
                wanted.push(place);
            }
            last = place;
        }
        if rows.len() < limit {
            return finish(session, wanted, page).await;
        }
        if wanted.len() == limit || examined >= EXAMINED {
            page.cursor = Some(last.cast_unsigned());
        }
    }
    finish(session, wanted, page).await
}

/// The place after which to begin.
async fn begin(session: &Session<'_>, filter: &EventFilter) -> Outcome<i64> {
    if let Some(cursor) = filter.cursor {
        return Ok(i64::try_from(cursor).unwrap_or(i64::MAX));
    }
    if let Some(event) = filter.after {
        let rows = session.query(Sql::EventPlace, params![event_uuid(event)]).await?;
        let place = rows.first().ok_or_else(|| filter.gone())?;
        return Ok(place.try_get("seq")?);
    }
    // Days before the time need not be looked at.
    Ok(filter.from.map_or(0, |from| day_begins(from.as_millis()) - 1))
}

/// The page with its events.
async fn finish(
    session: &Session<'_>,
    wanted: Vec<i64>,
    mut page: EventPage,
) -> Outcome<EventPage> {
    if !wanted.is_empty() {
        for row in &session.query(Sql::Events, params![wanted]).await? {
            page.events.extend(event(row)?);
        }
    }
    Ok(page)
}

/// Skips an event that cannot be read.
fn event(row: &Row) -> Result<Option<Event>, tokio_postgres::Error> {
    let Ok(kind) = Kind::new(row.try_get::<_, &str>("kind")?) else { return Ok(None) };
    let emitted_at = Timestamp::from_millis(row.try_get("emitted_at")?);
    let data = Bytes::copy_from_slice(row.try_get("data")?);
    let mut event = Event::bare(event_id(row.try_get("id")?), kind, data, emitted_at);
    let text = |column| row.try_get::<_, Option<&str>>(column);
    event.partition_key = text("partition_key")?.and_then(|key| PartitionKey::new(key).ok());
    event.idempotency_key = text("idempotency_key")?.and_then(|key| IdempotencyKey::new(key).ok());
    let metadata = text("metadata")?.and_then(|text| serde_json::from_str(text).ok());
    event.metadata = metadata.unwrap_or_default();
    Ok(Some(event))
}
