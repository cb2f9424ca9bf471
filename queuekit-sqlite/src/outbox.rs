//! Events, and deliveries of them.

use async_trait::async_trait;
use queuekit_core::capability::{
    Emission, EventFilter, EventPage, Outbox, StoredEvents, StoredSettings,
};
use queuekit_core::{Bytes, NewJob, Result};

use crate::SqliteStore;

#[async_trait]
impl Outbox for SqliteStore {
    async fn event_settings(&self) -> Result<StoredSettings> {
        self.read("event_settings", |step| step.event_settings()).await
    }

    async fn change_event_settings(&self, seen: u64, to: &Bytes) -> Result<bool> {
        let to = to.clone();
        self.write("change_event_settings", move |step| step.change_event_settings(seen, &to)).await
    }

    async fn store_events(&self, emission: &Emission) -> Result<StoredEvents> {
        let emission = emission.clone();
        self.write("store_events", move |step| step.store_events(&emission)).await
    }

    async fn list_events(&self, filter: &EventFilter) -> Result<EventPage> {
        let filter = filter.clone();
        self.read("list_events", move |step| step.list_events(&filter)).await
    }

    async fn deliver_again(&self, deliveries: &[NewJob]) -> Result<Vec<bool>> {
        let deliveries = deliveries.to_vec();
        self.write("deliver_again", move |step| step.deliver_again(&deliveries)).await
    }
}
