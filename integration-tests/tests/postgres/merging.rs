//! A caller that waits for another open transaction holds up no other caller (contract R2.10).

use std::slice::from_ref;
use std::sync::Arc;

use crate::common::store_fixture::{Stage, promptly};
use futures_util::future::{join_all, try_join_all};
use queuekit_conformance::kit::{build, draft, unique};
use queuekit_conformance::this_test;
use queuekit_core::{Backend, Client, EnqueueOutcome, JobFilter};
use tokio::task::JoinHandle;

type Waiting = JoinHandle<queuekit_core::Result<EnqueueOutcome>>;

/// A caller that waits, of the same client as all others.
fn wait(client: &Arc<Client>, key: &str) -> Waiting {
    let (client, job) = (Arc::clone(client), unique(key));
    tokio::spawn(async move { client.enqueue(job).outcome().await })
}

/// 100 callers of these jobs at once, each with a call of its own.
async fn hundred(client: &Client, key: Option<&str>) {
    let job = |n: usize| key.map_or_else(draft, |key| unique(&format!("{key} {n}")));
    let calls = (0..100).map(|n| client.enqueue(job(n)).outcome());
    let outcomes = try_join_all(calls).await.expect("a call for other keys should not be blocked");
    assert!(outcomes.iter().all(|outcome| outcome.is_created()), "{outcomes:?}");
}

/// Runs the callers beside one that is blocked; `joins` says whether that one comes at the same
/// time as they do, or was blocked before.
async fn beside_a_blocked_caller(test: &str, key: Option<&str>, joins: bool) {
    let Some(stage) = Stage::open(test).await else { return };
    let mut app = stage.client().await;
    let client = Arc::new(Client::new(stage.store.clone()));
    // Connections are made and queues are known before.
    hundred(&client, Some("before")).await;
    let foreign = build(unique("held"));
    let tx = app.transaction().await.unwrap();
    let _ = stage.store.enqueue_in(&tx, from_ref(&foreign)).await.unwrap();
    let blocked = wait(&client, "held");
    if !joins {
        stage.until_blocked(1).await;
    }
    promptly("100 other callers", hundred(&client, key)).await;
    // The next ones wait for those before them, and not for the one that is blocked either.
    promptly("100 more", hundred(&client, key.map(|_| "more"))).await;
    assert!(!blocked.is_finished(), "the call was answered while the transaction was open");
    tx.commit().await.unwrap();
    let outcome =
        promptly("the call that the transaction blocked", blocked).await.unwrap().unwrap();
    assert_eq!(outcome, EnqueueOutcome::Duplicate { existing: foreign.id() });
    let filter = JobFilter::default().limit(1000);
    assert_eq!(stage.store.list_jobs(&filter).await.unwrap().items.len(), 301);
    stage.assert_exact().await;
    stage.end().await;
}

#[tokio::test]
async fn r2_10_plain_callers_do_not_wait_for_a_blocked_key() {
    let test = this_test!();
    beside_a_blocked_caller(test, None, false).await;
}

#[tokio::test]
async fn r2_10_callers_with_other_keys_do_not_wait_for_one_that_is_blocked() {
    let test = this_test!();
    beside_a_blocked_caller(test, Some("other"), false).await;
}

#[tokio::test]
async fn r2_10_callers_with_other_keys_do_not_wait_for_one_in_their_flush() {
    let test = this_test!();
    beside_a_blocked_caller(test, Some("other"), true).await;
}

/// As many blocked callers as there are connections: the others are answered nevertheless.
#[tokio::test]
async fn r2_10_blocked_callers_do_not_use_up_the_connections() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    let mut app = stage.client().await;
    let client = Arc::new(Client::new(stage.store.clone()));
    hundred(&client, Some("before")).await;
    let tx = app.transaction().await.unwrap();
    let _ = stage.store.enqueue_in(&tx, &[build(unique("held"))]).await.unwrap();
    let blocked: Vec<Waiting> = (0..8).map(|_| wait(&client, "held")).collect();
    stage.until_blocked(1).await;
    promptly("100 plain callers", hundred(&client, None)).await;
    promptly("100 with other keys", hundred(&client, Some("other"))).await;
    tx.rollback().await.unwrap();
    let outcomes = promptly("the call that the transaction blocked", join_all(blocked)).await;
    let outcomes: Vec<_> = outcomes.into_iter().map(|outcome| outcome.unwrap().unwrap()).collect();
    let created = outcomes.iter().filter(|outcome| outcome.is_created()).count();
    assert_eq!(created, 1, "{outcomes:?}");
    stage.assert_exact().await;
    stage.end().await;
}

/// An id that an open transaction has taken, in a flush of plain jobs.
#[tokio::test]
async fn r2_10_plain_callers_do_not_wait_for_a_blocked_id() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    let mut app = stage.client().await;
    let client = Arc::new(Client::new(stage.store.clone()));
    hundred(&client, None).await;
    let held = build(draft());
    let tx = app.transaction().await.unwrap();
    let _ = stage.store.enqueue_in(&tx, from_ref(&held)).await.unwrap();
    let again = draft().id(held.id());
    let asking = Arc::clone(&client);
    let blocked = tokio::spawn(async move { asking.enqueue(again).outcome().await });
    promptly("100 plain callers", hundred(&client, None)).await;
    promptly("100 more", hundred(&client, None)).await;
    assert!(!blocked.is_finished(), "the call was answered while the transaction was open");
    tx.commit().await.unwrap();
    let outcome =
        promptly("the call that the transaction blocked", blocked).await.unwrap().unwrap();
    assert_eq!(outcome, EnqueueOutcome::Duplicate { existing: held.id() });
    stage.assert_exact().await;
    stage.end().await;
}
