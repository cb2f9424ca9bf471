//! Events.

use std::sync::Arc;

use queuekit_core::capability::{EventFilter, EventPage};
use queuekit_core::client::Events;
use queuekit_core::event::Consumers;
use queuekit_core::{
    Client, ConsumerName, Declared, EventDraft, EventId, Job, QueueName, Subscription,
    SubscriptionDraft,
};

use crate::World;

/// A consumer's name.
pub fn consumer(name: &str) -> ConsumerName {
    ConsumerName::new(name).expect("a consumer's name")
}

/// The queue of a consumer's deliveries.
pub fn deliveries_of(name: &str) -> QueueName {
    consumer(name).queue().expect("a consumer's queue")
}

/// The subscription of a draft that obeys every limit.
pub fn subscribed(draft: SubscriptionDraft) -> Subscription {
    draft.build().expect("a subscription that obeys every limit")
}

impl<'w> dyn World + 'w {
    /// A client of the store.
    pub fn client(&self) -> Client {
        Client::shared(Arc::clone(self.backend()))
    }

    /// The event log of the store.
    pub fn event_log(&self) -> Events<'_> {
        Events::of(&**self.backend())
    }

    /// The consumers of the store.
    pub fn consumers(&self) -> Consumers<'_> {
        Consumers::of(&**self.backend())
    }

    /// Subscribes a consumer.
    pub async fn subscribe(&self, draft: SubscriptionDraft) -> Declared {
        self.consumers().declare(&subscribed(draft)).await.expect("declare")
    }

    /// Emits one event.
    pub async fn emit(&self, event: EventDraft) -> EventId {
        self.client().emit(event).await.expect("emit")
    }

    /// The deliveries of a consumer, in order.
    pub async fn deliveries(&self, consumer: &str) -> Vec<Job> {
        self.jobs_of(&deliveries_of(consumer)).await
    }

    /// The payloads of a consumer's deliveries, in order.
    pub async fn delivered(&self, consumer: &str) -> Vec<String> {
        let text = |job: &Job| String::from_utf8_lossy(&job.payload).into_owned();
        self.deliveries(consumer).await.iter().map(text).collect()
    }

    /// The events of the log, page by page.
    pub async fn events(&self, mut filter: EventFilter) -> Vec<queuekit_core::event::Event> {
        let mut events = Vec::new();
        loop {
            let EventPage { events: page, cursor, .. } =
                self.outbox().list_events(&filter).await.expect("list_events");
            events.extend(page);
            filter.cursor = cursor;
            if cursor.is_none() {
                return events;
            }
        }
    }
}
