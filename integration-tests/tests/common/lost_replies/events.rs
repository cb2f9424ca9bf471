//! Events (contract R14.1, R14.2, R14.5).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use queuekit_conformance::kit::{consumer, deliveries_of};
use queuekit_core::capability::EmitOutcome;
use queuekit_core::event::{Consumers, Replay, ReplayFrom};
use queuekit_core::{Backend, BackendExt, Bytes, Client, EventDraft, SubscriptionDraft};

use super::super::store_fixture::all_jobs;
use super::{Lossy, LossyStage};

/// Whether the store keeps events.
fn keeps_events<S: LossyStage>(lossy: &Lossy<S>) -> bool {
    lossy.store.capabilities().outbox.is_some()
}

/// Deletes the deliveries. Returns their payloads, in order.
async fn take<S: LossyStage>(lossy: &Lossy<S>) -> Vec<Vec<u8>> {
    let mut taken = Vec::new();
    for job in all_jobs(lossy.stage.store()).await {
        assert!(lossy.stage.store().delete_job(job.id, false).await.unwrap());
        taken.push(job.payload.to_vec());
    }
    taken.sort_unstable();
    taken
}

pub(crate) async fn r14_2_an_emit_whose_reply_was_lost_is_repeated<S: LossyStage>(test: &str) {
    let case = async |lossy: &Lossy<S>| {
        if !keeps_events(lossy) {
            // Nothing to ask it: any call that loses a reply ends the case.
            let _ = lossy.call(lossy.store.all_queues()).await;
            return;
        }
        let n = lossy.after.load(Ordering::Relaxed);
        let direct = Consumers::of(lossy.stage.store());
        let wants = SubscriptionDraft::new("c", "*").ordered().build().unwrap();
        let _ = lossy.call(Consumers::of(&lossy.store).declare(&wants)).await;
        let _ = direct.declare(&wants).await.unwrap();
        let queue = deliveries_of("c");
        let large = "x".repeat(2000);
        let drafts = [
            EventDraft::new("e", format!("{n}")).partition_key("k"),
            EventDraft::new("e", large.clone()).idempotency_key(format!("{n}")),
        ];
        let events: Vec<_> = drafts.iter().map(|draft| draft.clone().build().unwrap()).collect();
        // Subscriptions are read by an emit that loses nothing.
        let through = Client::shared(Arc::new(lossy.store.clone()));
        let _ = through.emit(EventDraft::new("e", "first")).await.unwrap();
        let again =
            || drafts.iter().zip(&events).map(|(draft, event)| draft.clone().id(event.id()));
        if let Some(outcomes) = lossy.call(through.emit_all(again())).await {
            let ids: Vec<_> = outcomes
                .iter()
                .map(|outcome| match outcome {
                    EmitOutcome::Emitted { id } | EmitOutcome::Duplicate { existing: id } => *id,
                    EmitOutcome::Conflict { .. } => panic!("{outcomes:?}"),
                })
                .collect();
            assert!(ids.iter().copied().eq(events.iter().map(|event| event.id())), "{ids:?}");
        }
        let repeated = Client::shared(Arc::new(lossy.stage.store().clone()));
        let outcomes = repeated.emit_all(again()).await.unwrap();
        assert!(outcomes.iter().zip(&events).all(|(outcome, event)| {
            *outcome == EmitOutcome::Duplicate { existing: event.id() }
        }));
        assert!(all_jobs(lossy.stage.store()).await.iter().all(|job| job.queue == queue));
        let mut wanted = [n.to_string(), "first".to_owned(), large].map(String::into_bytes);
        wanted.sort_unstable();
        assert_eq!(take(lossy).await, wanted, "each is delivered once");
    };
    Lossy::<S>::each_reply(test, case).await;
}

pub(crate) async fn r14_5_a_replay_whose_reply_was_lost_is_repeated<S: LossyStage>(test: &str) {
    let case = async |lossy: &Lossy<S>| {
        if !keeps_events(lossy) {
            let _ = lossy.call(lossy.store.all_queues()).await;
            return;
        }
        let n = lossy.after.load(Ordering::Relaxed);
        let direct = Consumers::of(lossy.stage.store());
        if n == 0 {
            let client = Client::shared(Arc::new(lossy.stage.store().clone()));
            for data in ["small".to_owned(), "x".repeat(2000)] {
                client.emit(EventDraft::new("e", data)).await.unwrap();
            }
            let wants = SubscriptionDraft::new("c", "*").build().unwrap();
            let _ = direct.declare(&wants).await.unwrap();
        }
        let replay = Replay::new(consumer("c"), format!("{n}"), ReplayFrom::Beginning);
        let replayed = lossy.call(Consumers::of(&lossy.store).replay(&replay)).await;
        let more = direct.replay(&replay).await.unwrap().delivered;
        // A store that has repeated the call by itself has found them stored.
        let is_right = |delivered| [0, 2].contains(&(delivered + more));
        assert!(replayed.is_none_or(|report| is_right(report.delivered)), "{more} more");
        assert_eq!(direct.replay(&replay).await.unwrap().delivered, 0, "once under one name");
        let taken = take(lossy).await;
        assert_eq!(taken.iter().map(Vec::len).collect::<Vec<_>>(), [5, 2000]);
    };
    Lossy::<S>::each_reply(test, case).await;
}

/// For stores that recognize their own repeated calls.
pub(crate) async fn r14_4_a_change_of_subscriptions_whose_reply_was_lost_is_repeated<
    S: LossyStage,
>(
    test: &str,
) {
    let case = async |lossy: &Lossy<S>| {
        let direct = lossy.stage.store().capabilities().outbox.unwrap();
        let before = direct.event_settings().await.unwrap();
        let body = Bytes::from(format!("settings {}", before.version));
        let through = lossy.store.capabilities().outbox.unwrap();
        let change = through.change_event_settings(before.version, &body);
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
