//! The log of events.

use std::collections::{BTreeMap, HashMap};

use crate::capability::StoredSettings;
use crate::event::{Event, EventId};
use crate::names::{IdempotencyKey, Kind};

#[derive(Clone, Debug, Default)]
pub(super) struct EventTable {
    pub(super) settings: StoredSettings,
    /// Events by their position in the log.
    pub(super) log: BTreeMap<u64, Event>,
    pub(super) places: HashMap<EventId, u64>,
    pub(super) keys: HashMap<(Kind, IdempotencyKey), EventId>,
    /// Where upkeep continues.
    pub(super) pruned_to: u64,
}

impl EventTable {
    pub(super) fn forget(&mut self, place: u64) {
        let Some(event) = self.log.remove(&place) else { return };
        self.places.remove(&event.id);
        if let Some(key) = event.idempotency_key {
            self.keys.remove(&(event.kind, key));
        }
    }
}
