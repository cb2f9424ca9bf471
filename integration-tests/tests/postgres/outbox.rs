//! Events inside the application's own Postgres transactions, and beside them (contract R14.1,
//! R14.4, R2.10).

use std::collections::BTreeSet;
use std::slice::from_ref;
use std::time::Duration;

use crate::common::store_fixture::{Stage, all_jobs, promptly, until};
use futures_util::future::{join_all, try_join_all};
use queuekit_conformance::kit::{assert_invalid, consumer, deliveries_of};
use queuekit_conformance::this_test;
use queuekit_core::capability::{EmitOutcome, EventFilter, Outbox, Wakeups};
use queuekit_core::event::{EVENT, NewEvent, Replay, ReplayFrom};
use queuekit_core::{
    Client, ConsumerName, EventDraft, EventId, PageSize, QueueName, Result, SubscriptionDraft,
};
use tokio::task::JoinHandle;

const APP: &str = include_str!("../../sql/postgres_app.sql");
const INSERT: &str = include_str!("../../sql/postgres_app_insert.sql");
const COUNT: &str = include_str!("../../sql/postgres_app_count.sql");

/// A store with a consumer, and an application's connection to the same database.
async fn beside(test: &str) -> Option<(Stage, tokio_postgres::Client)> {
    let stage = Stage::open(test).await?;
    subscribe(&stage, SubscriptionDraft::new("c", "*")).await;
    let app = stage.client().await;
    app.batch_execute(APP).await.unwrap();
    Some((stage, app))
}

fn client(stage: &Stage) -> Client {
    Client::new(stage.store.clone())
}

async fn subscribe(stage: &Stage, draft: SubscriptionDraft) {
    let client = client(stage);
    let _ = client.consumers().declare(&draft.build().unwrap()).await.unwrap();
}

fn draft(data: &str) -> EventDraft {
    EventDraft::new("order.placed", data.to_owned())
}

fn event(data: &str) -> NewEvent {
    draft(data).build().unwrap()
}

/// The log, and the deliveries of all consumers.
async fn stored(stage: &Stage) -> (usize, usize) {
    let all = EventFilter { limit: PageSize::new(1000).unwrap(), ..EventFilter::default() };
    let events = stage.store.list_events(&all).await.unwrap().events.len();
    (events, all_jobs(&stage.store).await.len())
}

#[tokio::test]
async fn r14_1_an_event_of_a_transaction_exists_once_it_commits() {
    let test = this_test!();
    let Some((stage, mut app)) = beside(test).await else { return };
    let events = [event("1"), event(&"large".repeat(1000))];
    let woken = stage.store.subscribe(&[deliveries_of("c")]).unwrap();
    let tx = app.transaction().await.unwrap();
    tx.execute(INSERT, &[]).await.unwrap();
    let outcomes = stage.store.emit_in(&tx, &events).await.unwrap();
    stage.store.notify_events_in(&tx, &events).await.unwrap();
    assert_eq!(
        outcomes.as_slice(),
        [0, 1].map(|n: usize| EmitOutcome::Emitted { id: events[n].id() })
    );
    assert_eq!(stored(&stage).await, (0, 0), "visible before the commit");
    tx.commit().await.unwrap();
    promptly("a wake-up by the commit", woken.rung()).await;
    assert_eq!(stored(&stage).await, (2, 2));
    assert_eq!(app.query_one(COUNT, &[]).await.unwrap().get::<_, i64>(0), 1);
    stage.assert_exact().await;
    stage.end().await;
}

#[tokio::test]
async fn r14_1_an_event_of_a_transaction_that_is_rolled_back_never_existed() {
    let test = this_test!();
    let Some((stage, mut app)) = beside(test).await else { return };
    let keyed = |data: &str| draft(data).idempotency_key("once").build().unwrap();
    let tx = app.transaction().await.unwrap();
    tx.execute(INSERT, &[]).await.unwrap();
    let _ = stage.store.emit_in(&tx, &[keyed("1"), event(&"large".repeat(1000))]).await.unwrap();
    tx.rollback().await.unwrap();
    assert_eq!(stored(&stage).await, (0, 0));
    let again = client(&stage).emit_all([draft("1").idempotency_key("once")]).await.unwrap();
    assert!(matches!(again.as_slice(), [EmitOutcome::Emitted { .. }]), "{again:?}");
    stage.assert_exact().await;
    stage.end().await;
}

/// A call that is refused leaves the transaction as it was, and events of one call act in order.
#[tokio::test]
async fn r14_2_events_of_a_transaction_act_in_order() {
    let test = this_test!();
    let Some((stage, mut app)) = beside(test).await else { return };
    let first = event("1");
    let same = draft("1").id(first.id()).build().unwrap();
    let other = draft("2").id(first.id()).build().unwrap();
    let [keyed, again] = ["3", "4"].map(|data| draft(data).idempotency_key("k").build().unwrap());
    for level in ["READ COMMITTED", "SERIALIZABLE"] {
        let tx = app.transaction().await.unwrap();
        tx.batch_execute(&["SET TRANSACTION ISOLATION LEVEL ", level].concat()).await.unwrap();
        let large = EventDraft::new("large", vec![b'x'; 2 * 1024 * 1024]).build().unwrap();
        assert_invalid(stage.store.emit_in(&tx, &[large]).await, "data");
        let events = [first.clone(), same.clone(), other.clone(), keyed.clone(), again.clone()];
        let outcomes = stage.store.emit_in(&tx, &events).await.unwrap();
        let duplicate = |existing| EmitOutcome::Duplicate { existing };
        let emitted = |id| EmitOutcome::Emitted { id };
        let conflict = EmitOutcome::Conflict { existing: first.id() };
        assert_eq!(
            outcomes.as_slice()[..3],
            [emitted(first.id()), duplicate(first.id()), conflict]
        );
        assert_eq!(outcomes.as_slice()[3..], [emitted(keyed.id()), duplicate(keyed.id())]);
        tx.rollback().await.unwrap();
    }
    stage.end().await;
}

/// R14.4: a change of subscriptions waits for transactions that have emitted by the old ones.
#[tokio::test]
async fn r14_4_subscriptions_change_when_open_transactions_have_ended() {
    let test = this_test!();
    let Some((stage, mut app)) = beside(test).await else { return };
    let tx = app.transaction().await.unwrap();
    let _ = stage.store.emit_in(&tx, &[event("1")]).await.unwrap();
    let late = client(&stage);
    let declared = tokio::spawn(async move {
        let draft = SubscriptionDraft::new("late", "*").build().unwrap();
        late.consumers().declare(&draft).await.map(drop)
    });
    stage.until_blocked(1).await;
    promptly("others who emit", client(&stage).emit(draft("2")).into_future()).await.unwrap();
    assert!(!declared.is_finished());
    tx.commit().await.unwrap();
    promptly("the change", declared).await.unwrap().unwrap();
    // Whatever was emitted before the change is there for a replay, and nothing is left out.
    let replay = Replay::new(consumer("late"), "r", ReplayFrom::Beginning);
    let replayed = client(&stage).consumers().replay_all(replay).await.unwrap();
    assert_eq!(replayed, 2);
    stage.assert_exact().await;
    stage.end().await;
}

/// The events that a consumer has deliveries of.
async fn delivered(stage: &Stage, name: &str) -> BTreeSet<String> {
    let queue: QueueName = ConsumerName::new(name).unwrap().queue().unwrap();
    let jobs = all_jobs(&stage.store).await.into_iter().filter(|job| job.queue == queue);
    jobs.filter_map(|job| job.metadata.get(EVENT).map(str::to_owned)).collect()
}

/// R14.4, R14.5: a consumer that subscribes while others emit gets each event, live or by a replay
/// that begins after it has subscribed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r14_5_a_replay_after_a_subscription_leaves_no_gap() {
    let test = this_test!();
    let Some((stage, _app)) = beside(test).await else { return };
    let (told, end) = tokio::sync::watch::channel(false);
    let emitter = |n: usize| {
        let (client, end) = (client(&stage), end.clone());
        tokio::spawn(async move {
            let mut ids = Vec::new();
            while !*end.borrow() {
                let data = format!("{n} {}", "x".repeat(ids.len() % 3 * 700));
                ids.push(client.emit(draft(&data)).await.unwrap());
            }
            ids
        })
    };
    let emitters: Vec<JoinHandle<Vec<EventId>>> = (0..8).map(emitter).collect();
    let consumers = client(&stage);
    let consumers = consumers.consumers();
    for n in 0..5 {
        tokio::time::sleep(Duration::from_millis(30)).await;
        let name = format!("late-{n}");
        subscribe(&stage, SubscriptionDraft::new(name.as_str(), "*")).await;
        let replay = Replay::new(consumer(&name), "r", ReplayFrom::Beginning);
        consumers.replay_all(replay).await.unwrap();
    }
    told.send(true).unwrap();
    let ids = join_all(emitters).await.into_iter().flat_map(|ids| ids.unwrap());
    let all: BTreeSet<String> = ids.map(|id| id.to_string()).collect();
    assert!(all.len() > 20, "{}", all.len());
    for name in ["c", "late-0", "late-1", "late-2", "late-3", "late-4"] {
        let missed: Vec<_> = all.difference(&delivered(&stage, name).await).cloned().collect();
        assert!(missed.is_empty(), "{name} missed {} of {}: {missed:?}", missed.len(), all.len());
    }
    stage.assert_exact().await;
    stage.end().await;
}

/// 100 callers that emit at once, each with a call of its own.
async fn hundred(client: &Client, key: Option<&str>) {
    let event = |n: usize| {
        let draft = draft("x");
        key.map_or_else(|| draft.clone(), |key| draft.clone().idempotency_key(format!("{key} {n}")))
    };
    try_join_all((0..100).map(|n| client.emit(event(n)).into_future()))
        .await
        .expect("a call for other keys should not be blocked");
}

/// R2.10: a caller that waits for an open transaction with the same event holds up no other.
async fn beside_a_blocked_emit(test: &str, held: EventDraft, key: Option<&str>) {
    let Some((stage, mut app)) = beside(test).await else { return };
    let client = client(&stage);
    hundred(&client, Some("before")).await;
    let foreign = held.clone().build().unwrap();
    let tx = app.transaction().await.unwrap();
    let _ = stage.store.emit_in(&tx, from_ref(&foreign)).await.unwrap();
    let waiting = client.clone();
    let blocked: JoinHandle<Result<EventId>> =
        tokio::spawn(async move { waiting.emit(held).await });
    promptly("100 other callers", hundred(&client, key)).await;
    promptly("100 more", hundred(&client, key.map(|_| "more"))).await;
    assert!(!blocked.is_finished(), "the call was answered while the transaction was open");
    tx.commit().await.unwrap();
    let answer = promptly("the call that the transaction blocked", blocked).await.unwrap().unwrap();
    assert_eq!(answer, foreign.id());
    assert_eq!(stored(&stage).await.0, 301);
    stage.assert_exact().await;
    stage.end().await;
}

#[tokio::test]
async fn r2_10_emits_with_other_keys_do_not_wait_for_one_that_is_blocked() {
    let test = this_test!();
    beside_a_blocked_emit(test, draft("held").idempotency_key("held"), Some("other")).await;
}

#[tokio::test]
async fn r2_10_plain_emits_do_not_wait_for_a_blocked_id() {
    let test = this_test!();
    let id = event("any").id();
    beside_a_blocked_emit(test, draft("held").id(id), None).await;
}

/// R14.2: emits at once of the same ids and keys, in whatever order, store each once and end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r14_2_the_same_events_at_once_are_stored_once() {
    let test = this_test!();
    let Some((stage, _app)) = beside(test).await else { return };
    for round in 0..10 {
        let drafts: Vec<EventDraft> =
            (0..20).map(|n| draft("x").idempotency_key(format!("{round} {n}"))).collect();
        let call = |n: usize| {
            let (store, mut drafts) = (stage.store.clone(), drafts.clone());
            drafts.rotate_left(n * 3);
            tokio::spawn(async move { Client::new(store).emit_all(drafts).await })
        };
        let calls: Vec<_> = (0..6).map(call).collect();
        let mut emitted = 0;
        for call in calls {
            let outcomes = call.await.unwrap().unwrap();
            let is_new = |outcome: &&EmitOutcome| matches!(outcome, EmitOutcome::Emitted { .. });
            emitted += outcomes.iter().filter(is_new).count();
        }
        assert_eq!(emitted, 20, "in round {round}");
    }
    assert_eq!(stored(&stage).await, (200, 200));
    until("nothing is open", async || stage.connections("idle in transaction%").await == 0).await;
    stage.assert_exact().await;
    stage.end().await;
}
