//! Events (contract R14.2), where the store keeps them.

use std::sync::atomic::Ordering;

use queuekit_core::capability::{EmitOutcome, EventFilter, Outbox};
use queuekit_core::event::{Consumers, EventSettings, Replay, ReplayFrom};
use queuekit_core::{Backend, Bytes, EventDraft, SubscriptionDraft};
use queuekit_integration_tests::kit::{consumer, subscribed};

use super::super::stage::all_jobs;
use super::{Lossy, LossyStage};

fn outbox(store: &impl Backend) -> &dyn Outbox {
    store.capabilities().outbox.expect("the capability Outbox")
}

/// A small event and a large one, of a type that one consumer wants.
fn events(kind: &str) -> [EventDraft; 2] {
    ["small", &"large".repeat(1000)].map(|data| EventDraft::new(kind, data.to_owned()))
}

/// Its deliveries leave, so that the next one begins anew; how many there were.
async fn forget_deliveries(store: &impl Backend) -> usize {
    let jobs = all_jobs(store).await;
    for job in &jobs {
        assert!(store.delete_job(job.id, false).await.unwrap());
    }
    jobs.len()
}

pub(crate) async fn r14_2_an_emit_whose_reply_was_lost_is_repeated<S: LossyStage>(test: &str) {
    let case = async |lossy: &Lossy<S>| {
        let name = format!("c{}", lossy.after.load(Ordering::Relaxed));
        let direct = lossy.stage.store();
        let subscription = subscribed(SubscriptionDraft::new(name.as_str(), &name));
        Consumers::of(direct).unwrap().declare(&subscription).await.unwrap();
        let stored = outbox(direct).event_settings().await.unwrap();
        let settings = EventSettings::read(&stored.body).unwrap();
        let events = events(&name).map(|event| event.idempotency_key("i").build().unwrap());
        let one = settings.emission(stored.version, &events[..1]).unwrap();
        let duplicate = EmitOutcome::Duplicate { existing: events[0].id() };
        if let Some(outcomes) = lossy.call(outbox(&lossy.store).store_events(&one)).await {
            // The store has repeated it by itself, which finds the event there.
            let emitted = EmitOutcome::Emitted { id: events[0].id() };
            let [outcome] = outcomes.expect("settings of this version")[..] else { panic!("one") };
            assert!([emitted, duplicate].contains(&outcome), "{outcome:?}");
        }
        let both = settings.emission(stored.version, &events).unwrap();
        let repeated = outbox(direct).store_events(&both).await.unwrap();
        assert_eq!(repeated, Some(vec![duplicate; 2]), "by its id, and by its key");
        let pattern = name.parse().ok();
        let filter = EventFilter { pattern, ..EventFilter::default() };
        assert_eq!(outbox(direct).list_events(&filter).await.unwrap().events.len(), 1);
        assert_eq!(forget_deliveries(direct).await, 1, "it was stored once");
    };
    Lossy::<S>::each_reply(test, case).await;
}

pub(crate) async fn r14_4_a_change_of_subscriptions_whose_reply_was_lost_is_repeated<
    S: LossyStage,
>(
    test: &str,
) {
    let case = async |lossy: &Lossy<S>| {
        let direct = outbox(lossy.stage.store());
        let before = direct.event_settings().await.unwrap();
        let body = Bytes::from(format!("settings {}", before.version));
        let change = outbox(&lossy.store).change_event_settings(before.version, &body);
        if let Some(changed) = lossy.call(change).await {
            assert!(changed, "what the store repeats by itself it knows again");
        }
        let repeated = direct.change_event_settings(before.version, &body).await.unwrap();
        let after = direct.event_settings().await.unwrap();
        assert_eq!(after.body, body);
        assert_ne!(after.version, before.version);
        assert!(!repeated, "it took effect before");
    };
    Lossy::<S>::each_reply(test, case).await;
}

pub(crate) async fn r14_5_a_replay_whose_replies_were_lost_is_repeated<S: LossyStage>(test: &str) {
    let case = async |lossy: &Lossy<S>| {
        let name = format!("c{}", lossy.after.load(Ordering::Relaxed));
        let direct = lossy.stage.store();
        let stored = outbox(direct).event_settings().await.unwrap();
        let settings = EventSettings::read(&stored.body).unwrap();
        let events = events(&name).map(|event| event.build().unwrap());
        let emission = settings.emission(stored.version, &events).unwrap();
        assert!(outbox(direct).store_events(&emission).await.unwrap().is_some());
        let subscription = subscribed(SubscriptionDraft::new(name.as_str(), &name));
        Consumers::of(direct).unwrap().declare(&subscription).await.unwrap();
        let replay = Replay::new(consumer(&name), "once", ReplayFrom::Beginning);
        let lossy_consumers = Consumers::of(&lossy.store).unwrap();
        if let Some(report) = lossy.call(lossy_consumers.replay(&replay)).await {
            assert_eq!(report.matched, 2);
        }
        let again = Consumers::of(direct).unwrap().replay(&replay).await.unwrap();
        assert_eq!(again.delivered, 0, "what was in doubt was stored, or was repeated");
        let payloads = all_jobs(direct).await;
        assert!(payloads.iter().all(|job| events.iter().any(|event| *event.data() == job.payload)));
        assert_eq!(forget_deliveries(direct).await, 2);
    };
    Lossy::<S>::each_reply(test, case).await;
}
