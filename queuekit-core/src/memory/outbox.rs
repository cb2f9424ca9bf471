//! The event log (contract R14).

use std::collections::HashSet;

use async_trait::async_trait;
use bytes::Bytes;

use super::tables::Tables;
use super::{MemoryStore, Operation};
use crate::backend::AnswerBytes;
use crate::capability::{
    Emission, EmitOutcome, EventFilter, EventPage, Outbox, StoredEvents, StoredSettings,
};
use crate::error::Result;
use crate::event::{Event, EventId, EventSettings, Fate, NewEvent};
use crate::job::{NewJob, State};
use crate::store_limits::Limits;

/// The most events that one call examines.
const EXAMINED: usize = 10_000;

#[async_trait]
impl Outbox for MemoryStore {
    async fn event_settings(&self) -> Result<StoredSettings> {
        self.step(Operation::EventSettings, |tables| Ok(tables.events.settings.clone()))
    }

    async fn change_event_settings(&self, seen: u64, to: &Bytes) -> Result<bool> {
        self.step(Operation::ChangeEventSettings, |tables| {
            if tables.events.settings.version != seen {
                return Ok(false);
            }
            let version = tables.next_seq();
            tables.events.settings = StoredSettings { version, body: to.clone() };
            Ok(true)
        })
    }

    async fn store_events(&self, emission: &Emission) -> Result<StoredEvents> {
        let limits = &self.shared.limits;
        self.step(Operation::StoreEvents, |tables| tables.store_events(emission, limits))
    }

    async fn list_events(&self, filter: &EventFilter) -> Result<EventPage> {
        self.step(Operation::ListEvents, |tables| tables.list_events(filter))
    }

    async fn deliver_again(&self, deliveries: &[NewJob]) -> Result<Vec<bool>> {
        let limits = &self.shared.limits;
        self.step(Operation::DeliverAgain, |tables| tables.deliver_again(deliveries, limits))
    }
}

impl Tables {
    pub(super) fn store_events(
        &mut self,
        emission: &Emission,
        limits: &Limits,
    ) -> Result<StoredEvents> {
        let instead = emission.under(&self.events.settings)?;
        let emission = instead.as_ref().unwrap_or(emission);
        let queues = emission.events.iter().flat_map(|(_, deliveries)| deliveries);
        self.open_queues(queues.map(NewJob::queue), limits)?;
        let store = |(event, deliveries): &(NewEvent, Vec<NewJob>)| {
            let outcome = self.store_event(event);
            if matches!(outcome, EmitOutcome::Emitted { .. }) {
                for delivery in deliveries {
                    self.deliver(delivery);
                }
            }
            outcome
        };
        let outcomes = emission.events.iter().map(store).collect();
        Ok(StoredEvents { outcomes, instead })
    }

    fn store_event(&mut self, event: &NewEvent) -> EmitOutcome {
        let id = event.id();
        let now = self.now;
        let place = self.next_seq();
        let events = &mut self.events;
        if let Some(stored) = events.places.get(&id).and_then(|place| events.log.get(place)) {
            let same = stored.kind == *event.kind() && stored.data == *event.data();
            return match same {
                true => EmitOutcome::Duplicate { existing: id },
                false => EmitOutcome::Conflict { existing: id },
            };
        }
        if let Some(key) = event.idempotency_key() {
            let key = (event.kind().clone(), key.clone());
            if let Some(existing) = events.keys.get(&key) {
                return EmitOutcome::Duplicate { existing: *existing };
            }
            events.keys.insert(key, id);
        }
        events.log.insert(place, Event::new(event, now));
        events.places.insert(id, place);
        EmitOutcome::Emitted { id }
    }

    /// Stores a delivery. Returns whether it was stored now.
    fn deliver(&mut self, delivery: &NewJob) -> bool {
        let scheduled_at = delivery.scheduled_at(self.now).unwrap_or(self.now);
        self.enqueue_one(delivery, scheduled_at).is_created()
    }

    fn deliver_again(&mut self, deliveries: &[NewJob], limits: &Limits) -> Result<Vec<bool>> {
        self.open_queues(deliveries.iter().map(NewJob::queue), limits)?;
        let deliver = |delivery: &NewJob| {
            let is_there = delivery.event().is_some_and(|id| self.events.places.contains_key(&id));
            is_there && self.deliver(delivery)
        };
        Ok(deliveries.iter().map(deliver).collect())
    }

    fn list_events(&self, filter: &EventFilter) -> Result<EventPage> {
        let from = match (filter.cursor, filter.after) {
            (Some(cursor), _) => cursor.saturating_add(1),
            (None, Some(event)) => {
                self.events.places.get(&event).ok_or_else(|| filter.gone())?.saturating_add(1)
            }
            (None, None) => 0,
        };
        let end = self.events.log.last_key_value().map_or(0, |(place, _)| *place);
        let mut page = EventPage { now: self.now, end, ..EventPage::default() };
        let mut bytes = AnswerBytes::default();
        for (examined, (place, event)) in self.events.log.range(from..).enumerate() {
            if filter.ends_before(*place) {
                break;
            }
            if page.events.len() == filter.limit.get() || examined == EXAMINED {
                return Ok(page);
            }
            if filter.admits(&event.kind, event.emitted_at) {
                if !bytes.admit(event.bytes()) {
                    return Ok(page);
                }
                page.events.push(event.clone());
            }
            page.cursor = Some(*place);
        }
        page.cursor = None;
        Ok(page)
    }

    /// Removes events beyond the retention that no delivery needs any more; examines `most` events.
    /// Returns how many were removed, and whether there are more to examine.
    pub(super) fn prune_events(&mut self, most: usize) -> Result<(usize, bool)> {
        let retention = EventSettings::read(&self.events.settings.body)?.retention;
        let beyond = self.events.log.len().saturating_sub(retention.events() as usize);
        let from = self.events.pruned_to;
        let numbered = self.events.log.iter().enumerate();
        let looked: Vec<(u64, EventId, Fate)> = numbered
            .skip_while(|(_, (place, _))| **place < from)
            .map(|(at, (place, event))| {
                (*place, event.id, retention.fate(event.emitted_at, self.now, at < beyond))
            })
            .take_while(|(_, _, fate)| *fate != Fate::Stays)
            .take(most)
            .collect();
        if looked.is_empty() {
            self.events.pruned_to = 0;
            return Ok((0, false));
        }
        let is_open = |state| !matches!(state, State::Completed | State::Cancelled);
        let open: HashSet<EventId> = self
            .jobs
            .values()
            .filter(|job| is_open(job.state))
            .filter_map(|job| job.event)
            .collect();
        let gone =
            |(_, id, fate): &&(u64, EventId, Fate)| *fate == Fate::Goes && !open.contains(id);
        let gone: Vec<u64> = looked.iter().filter(gone).map(|(place, _, _)| *place).collect();
        // At the end, it begins again with the events that were kept.
        let more = looked.len() == most;
        self.events.pruned_to = looked.last().filter(|_| more).map_or(0, |(place, _, _)| place + 1);
        gone.iter().for_each(|place| self.events.forget(*place));
        Ok((gone.len(), more))
    }
}
