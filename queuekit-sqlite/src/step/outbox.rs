//! The event log (contract R14).

use queuekit_core::backend::AnswerBytes;
use queuekit_core::capability::{
    Emission, EmitOutcome, EventFilter, EventPage, StoredEvents, StoredSettings,
};
use queuekit_core::event::{Event, EventId, EventSettings, Fate, NewEvent};
use queuekit_core::{Bytes, IdempotencyKey, Kind, NewJob, PartitionKey, Result, Timestamp};
use rusqlite::{Row, params};

use super::Step;
use super::enqueue::metadata_text;
use crate::column_names::columns;
use crate::row::Reader;
use crate::statements::{
    EVENT, EVENT_AGES, EVENT_COUNT, EVENT_DELETE, EVENT_INSERT, EVENT_LAST, EVENT_OF_KEY,
    EVENT_PLACE, EVENT_SETTINGS, EVENT_SETTINGS_PUT, EVENTS_AFTER,
};

/// The most events that one listing looks at.
const EXAMINED: usize = 10_000;
/// The most events that one step of retention looks at.
const PRUNED: usize = 1000;

columns! {
    struct SettingsColumns { version, body }
    struct ContentColumns { kind, data }
    struct AgeColumns { seq, emitted_at }
    struct EventColumns {
        seq, id, kind, partition_key, idempotency_key, metadata, emitted_at, data,
    }
}

impl Step<'_> {
    pub(crate) fn event_settings(&self) -> Result<StoredSettings> {
        let read = |row: &Row<'_>, at: &SettingsColumns| {
            let body = Bytes::from(row.get::<_, Vec<u8>>(at.body)?);
            Ok(StoredSettings { version: row.get(at.version)?, body })
        };
        Ok(self.row(EVENT_SETTINGS, [], read)?.unwrap_or_default())
    }

    pub(crate) fn change_event_settings(&mut self, seen: u64, to: &Bytes) -> Result<bool> {
        if self.event_settings()?.version != seen {
            return Ok(false);
        }
        self.execute(EVENT_SETTINGS_PUT, params![seen + 1, &to[..]])?;
        Ok(true)
    }

    /// The step holds the write lock, so nobody changes the settings until it ends.
    pub(crate) fn store_events(&mut self, emission: &Emission) -> Result<StoredEvents> {
        let instead = emission.under(&self.event_settings()?)?;
        let emission = instead.as_ref().unwrap_or(emission);
        let mut outcomes = Vec::with_capacity(emission.events.len());
        for (event, deliveries) in &emission.events {
            outcomes.push(self.store_event(event, deliveries)?);
        }
        Ok(StoredEvents { outcomes, instead })
    }

    fn store_event(&mut self, event: &NewEvent, deliveries: &[NewJob]) -> Result<EmitOutcome> {
        // A refused insert would use up a number, and retention counts by numbers.
        if let Some(taken) = self.taken_by(event)? {
            return Ok(taken);
        }
        let id = event.id();
        let metadata = metadata_text(event.metadata(), id)?;
        let seq = self.number()?;
        let row = params![
            seq,
            id.as_bytes(),
            event.kind().as_str(),
            event.partition_key().map(|key| key.as_str()),
            event.idempotency_key().map(|key| key.as_str()),
            metadata,
            self.now.as_millis(),
            &event.data()[..],
        ];
        self.execute(EVENT_INSERT, row)?;
        for delivery in deliveries {
            self.deliver(delivery, seq)?;
        }
        Ok(EmitOutcome::Emitted { id })
    }

    /// The outcome for an event if another has its id or key.
    fn taken_by(&self, event: &NewEvent) -> Result<Option<EmitOutcome>> {
        let existing = event.id();
        let same = self.row(EVENT, [existing.as_bytes()], |row, at: &ContentColumns| {
            let kind = row.get_ref(at.kind)?.as_bytes()? == event.kind().as_str().as_bytes();
            Ok(kind && row.get_ref(at.data)?.as_bytes()? == &event.data()[..])
        })?;
        match same {
            Some(true) => return Ok(Some(EmitOutcome::Duplicate { existing })),
            Some(false) => return Ok(Some(EmitOutcome::Conflict { existing })),
            None => {}
        }
        let Some(key) = event.idempotency_key() else { return Ok(None) };
        let of_key = [event.kind().as_str(), key.as_str()];
        let holder = self.value::<[u8; 16]>(EVENT_OF_KEY, of_key)?;
        Ok(holder.map(|id| EmitOutcome::Duplicate { existing: EventId::from_bytes(id) }))
    }

    /// Stores a delivery, without the bound of `max_pending` (R14.7). Returns whether it was stored
    /// now.
    fn deliver(&mut self, delivery: &NewJob, event: i64) -> Result<bool> {
        let queue = self.open_queue(delivery.queue())?;
        let scheduled_at = delivery.scheduled_at(self.now)?;
        Ok(self.add(queue, delivery, scheduled_at, Some(event))?.is_created())
    }

    pub(crate) fn deliver_again(&mut self, deliveries: &[NewJob]) -> Result<Vec<bool>> {
        let mut stored = Vec::with_capacity(deliveries.len());
        for delivery in deliveries {
            let id = delivery.event().map(|event| *event.as_bytes());
            let event = self.value(EVENT_PLACE, [id])?;
            stored.push(match event {
                Some(event) => self.deliver(delivery, event)?,
                None => false,
            });
        }
        Ok(stored)
    }

    pub(crate) fn list_events(&self, filter: &EventFilter) -> Result<EventPage> {
        let end: Option<i64> = self.value(EVENT_LAST, [])?;
        let end = end.map_or(0, i64::cast_unsigned);
        let mut page = EventPage { now: self.now, end, ..EventPage::default() };
        let limit = filter.limit.get();
        let mut last = match (filter.cursor, filter.after) {
            (Some(cursor), _) => i64::try_from(cursor).unwrap_or(i64::MAX),
            (None, Some(event)) => {
                let place = self.value(EVENT_PLACE, [event.as_bytes()])?;
                place.ok_or_else(|| filter.gone())?
            }
            (None, None) => 0,
        };
        let (mut examined, mut bytes, mut is_end) = (0, AnswerBytes::default(), true);
        let begin = last;
        self.rows_while(EVENTS_AFTER, params![begin, EXAMINED + 1], |row, at: &EventColumns| {
            let seq: i64 = row.get(at.seq)?;
            if filter.ends_before(seq.cast_unsigned()) {
                return Ok(false);
            }
            is_end = false;
            if page.events.len() == limit || examined == EXAMINED {
                return Ok(false);
            }
            if let Some(event) = event(row, at, filter)? {
                if !bytes.admit(event.bytes()) {
                    return Ok(false);
                }
                page.events.push(event);
            }
            (examined, last, is_end) = (examined + 1, seq, true);
            Ok(true)
        })?;
        page.cursor = Some(last.cast_unsigned()).filter(|_| !is_end);
        Ok(page)
    }

    /// Removes events beyond the retention, after the number up to which a step has looked before.
    /// Returns how many were removed, and where the next step begins, if anywhere.
    pub(crate) fn prune_events(&mut self, after: i64) -> Result<(u64, Option<i64>)> {
        let retention = EventSettings::read(&self.event_settings()?.body)?.retention;
        let looked = self.rows(EVENT_AGES, params![after, PRUNED], |row, at: &AgeColumns| {
            Ok((row.get::<_, i64>(at.seq)?, Timestamp::from_millis(row.get(at.emitted_at)?)))
        })?;
        let first = looked.first().map_or(0, |(seq, _)| *seq);
        let beyond = self.beyond_number(after, first, retention.events())?;
        let (mut removed, mut goes_on) = (0, false);
        for (at, (seq, emitted_at)) in looked.iter().enumerate() {
            let fate = retention.fate(*emitted_at, self.now, (at as u64) < beyond);
            goes_on |= fate != Fate::Stays;
            if fate == Fate::Goes {
                removed += self.execute(EVENT_DELETE, [seq])? as u64;
            }
        }
        let is_end = looked.len() < PRUNED || !goes_on;
        let next = looked.last().filter(|_| !is_end).map(|(seq, _)| *seq);
        Ok((removed, next))
    }

    /// By how many the events after the number `after`, the first of which is `first`, exceed
    /// `most`. Schedules take numbers from the same row, so there may be far fewer events than
    /// numbers. So it counts events, unless the numbers already show that there are few enough.
    fn beyond_number(&self, after: i64, first: i64, most: u64) -> Result<u64> {
        let last: i64 = self.value(EVENT_LAST, [])?.unwrap_or(0);
        if last.abs_diff(first) < most {
            return Ok(0);
        }
        let count: Option<i64> = self.value(EVENT_COUNT, [after])?;
        Ok(count.unwrap_or(0).cast_unsigned().saturating_sub(most))
    }
}

/// An event that matches the filter; none if it cannot be read.
fn event(
    row: &Row<'_>,
    at: &EventColumns,
    filter: &EventFilter,
) -> rusqlite::Result<Option<Event>> {
    let mut read = Reader::of(row);
    let emitted_at = Timestamp::from_millis(row.get(at.emitted_at)?);
    let kind = read.text(at.kind).and_then(|kind| Kind::new(kind).ok());
    let Some(kind) = kind.filter(|kind| filter.admits(kind, emitted_at)) else {
        return Ok(None);
    };
    let (Some(id), Some(data)) = (read.bytes16(at.id), read.bytes(at.data)) else {
        return Ok(None);
    };
    let mut event = Event::bare(EventId::from_bytes(id), kind, data, emitted_at);
    event.partition_key = read.text(at.partition_key).and_then(|key| PartitionKey::new(key).ok());
    event.idempotency_key =
        read.text(at.idempotency_key).and_then(|key| IdempotencyKey::new(key).ok());
    let metadata = read.text(at.metadata).and_then(|text| serde_json::from_str(&text).ok());
    event.metadata = metadata.unwrap_or_default();
    Ok(Some(event))
}
