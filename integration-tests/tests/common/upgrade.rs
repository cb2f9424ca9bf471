//! What a store has when it is upgraded, beside jobs.

use queuekit_conformance::kit::{deliveries_of, draft, request};
use queuekit_core::{
    Ack, AckOutcome, Backend, Client, EventDraft, ScheduleDraft, SubscriptionDraft,
};

pub(crate) async fn add_schedule(store: &(impl Backend + Clone)) {
    let nightly = ScheduleDraft::cron("nightly", "30 2 * * *", draft());
    let _ = Client::new(store.clone()).schedules().declare(nightly).await.unwrap();
}

/// Two events with their deliveries: one is completed, and one has its data only in the log.
pub(crate) async fn add_events(store: &(impl Backend + Clone)) {
    let client = Client::new(store.clone());
    let subscription = SubscriptionDraft::new("c", "*").build().unwrap();
    let _ = client.consumers().declare(&subscription).await.unwrap();
    client.emit(EventDraft::new("small", "{}")).await.unwrap();
    let delivered = store.reserve(&request(deliveries_of("c"), 1)).await.unwrap().leases;
    let acks = delivered.into_iter().map(|lease| Ack::new(lease.token)).collect();
    assert_eq!(client.ack(acks).await.unwrap(), [AckOutcome::Acked]);
    client.emit(EventDraft::new("large", "y".repeat(20_000))).await.unwrap();
}
