//! Calls that wait for the lock of a queue with partition keys hold no connection of the pool.

use std::time::Duration;

use crate::common::postgres::of_schema;
use crate::common::store_fixture::{Stage, create, promptly};
use futures_util::future::{join_all, try_join_all};
use queuekit_conformance::kit::{build, draft, keyed, queue, request};
use queuekit_conformance::this_test;
use queuekit_conformance::time_limit::answered;
use queuekit_core::capability::Admin;
use queuekit_core::queue::QueuePatch;
use queuekit_core::{Backend, ErrorKind, JobId, QueueName, Result};
use queuekit_postgres::PostgresStore;
use tokio::task::JoinHandle;
use tokio_postgres::Client;

/// FNV-1a of `queuekit`, the schema: the class of its locks.
const LOCK_CLASS: i32 = -1_315_857_572;
const HELD: &str = "held";
const SETTINGS: &str = "pool_size=3&listen=off&op_timeout_ms=4000";
/// Many more than connections.
const CALLS: usize = 24;

/// A store of few connections, and a job in the queue `held`.
async fn open(test: &str) -> Option<(Stage, JobId)> {
    let stage = Stage::with(test, SETTINGS).await?;
    let id = create(&stage.store, &build(keyed("k").queue(HELD))).await;
    Some((stage, id))
}

/// Holds the queue's lock until the connection is dropped.
async fn hold(stage: &Stage, name: &str) -> Client {
    let lock = of_schema(include_str!("../../sql/postgres_queue_lock.sql"), stage.store.schema());
    let holder = stage.client().await;
    let locked = holder.query(&lock, &[&LOCK_CLASS, &name]).await.unwrap();
    assert_eq!(locked.len(), 1);
    holder
}

/// Reserves of these queues, all at once, and how many jobs each got.
fn reserves(store: &PostgresStore, names: &[&str]) -> Vec<JoinHandle<Result<usize>>> {
    let reserve = |_| {
        let names: Vec<QueueName> = names.iter().map(|name| queue(name)).collect();
        let (store, mut asked) = (store.clone(), request(QueueName::default(), 1));
        asked.queues = names.into();
        tokio::spawn(async move { Ok(store.reserve(&asked).await?.leases.len()) })
    };
    (0..CALLS).map(reserve).collect()
}

/// `round` makes the partition keys differ, because a key runs one job at a time.
async fn other_queues_work(store: &PostgresStore, round: usize) {
    promptly("an enqueue", create(store, &build(draft()))).await;
    promptly("one with a key", create(store, &build(keyed(&format!("k{round}")).queue("other"))))
        .await;
    for name in ["default", "other"] {
        let reserved = promptly(name, store.reserve(&request(queue(name), 1))).await.unwrap();
        assert_eq!(reserved.leases.len(), 1, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r10_2_calls_that_wait_for_the_lock_of_a_queue_leave_connections_for_other_queues() {
    let test = this_test!();
    let Some((stage, id)) = open(test).await else { return };
    create(&stage.store, &build(keyed("k").queue("other"))).await;
    let holder = hold(&stage, HELD).await;
    let mut calls = reserves(&stage.store, &[HELD]);
    calls.extend(reserves(&stage.store, &["other", HELD]));
    let cancels = (0..CALLS).map(|_| {
        let store = stage.store.clone();
        tokio::spawn(async move { Ok(store.cancel(&[id]).await?.len()) })
    });
    calls.extend(cancels);
    stage.until_blocked(1).await;
    for round in 0..3 {
        other_queues_work(&stage.store, round).await;
    }
    let limit = Duration::from_secs(5);
    for ended in answered("all of them end", limit, join_all(calls)).await {
        let error = ended.unwrap().expect_err("the lock is held");
        assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
    }
    drop(holder);
    let asked = request(queue(HELD), 1);
    let reserved = promptly("a reserve after it", stage.store.reserve(&asked)).await.unwrap();
    assert_eq!(reserved.leases.len(), 1, "none was leased for a gone caller");
    stage.assert_exact().await;
    stage.end().await;
}

/// R6.7: a change of settings whose queue is removed in between creates the queue again at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r6_7_a_queue_that_is_removed_under_a_change_of_settings_is_created_again() {
    let test = this_test!();
    let Some((stage, id)) = open(test).await else { return };
    assert!(stage.store.delete_job(id, false).await.unwrap());
    let (store, other) = (stage.store.clone(), stage.handle("pool_size=2").await);
    let holder = hold(&stage, HELD).await;
    let removes = other.clone();
    let remove = tokio::spawn(async move { removes.remove_queue(&queue(HELD), false).await });
    stage.until_blocked(1).await;
    let patch = QueuePatch::default().per_key(7);
    let configure = tokio::spawn(async move { store.configure(&queue(HELD), &patch).await });
    stage.until_blocked(2).await;
    drop(holder);
    assert!(promptly("the removal", remove).await.unwrap().unwrap());
    let settings = promptly("the change", configure).await.unwrap().unwrap();
    assert_eq!(settings.per_key, 7);
    let found = other.find_queues(&[queue(HELD)]).await.unwrap();
    assert_eq!(found.iter().map(|queue| queue.settings.per_key).collect::<Vec<_>>(), [7]);
    stage.assert_exact().await;
    other.close().await.unwrap();
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r10_3_a_dropped_call_does_not_keep_others_from_the_lock_of_its_queue() {
    let test = this_test!();
    let Some((stage, _)) = open(test).await else { return };
    let holder = hold(&stage, HELD).await;
    for _ in 0..2 {
        let calls = reserves(&stage.store, &[HELD]);
        stage.until_blocked(1).await;
        for call in calls {
            call.abort();
            assert!(call.await.unwrap_err().is_cancelled());
        }
    }
    let calls = reserves(&stage.store, &[HELD]);
    stage.until_blocked(1).await;
    drop(holder);
    let ended = promptly("those that stayed", try_join_all(calls)).await.unwrap();
    let leased: usize = ended.into_iter().map(|leased| leased.unwrap()).sum();
    assert_eq!(leased, 1, "none was leased for a gone caller");
    stage.assert_exact().await;
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_over_several_queues_in_any_order_wait_for_each_other_in_turn() {
    let test = this_test!();
    let Some(stage) = Stage::with(test, "pool_size=3&listen=off").await else { return };
    let names = ["a", "b", "c"];
    for name in names {
        for n in 0..CALLS {
            create(&stage.store, &build(keyed(&n.to_string()).queue(name))).await;
        }
    }
    let mut calls = Vec::new();
    for order in [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]] {
        calls.extend(reserves(&stage.store, &order));
    }
    let ended = answered("all of them end", Duration::from_secs(20), try_join_all(calls)).await;
    let leased: usize = ended.unwrap().into_iter().map(|leased| leased.unwrap()).sum();
    assert_eq!(leased, names.len() * CALLS, "each call got one job");
    stage.assert_exact().await;
    stage.assert_no_deadlocks().await;
    stage.database.drop().await;
}
