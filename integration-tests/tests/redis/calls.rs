//! What a call does once and no more, and what it does although a part of it fails.

use std::time::Duration;

use crate::common::redis_store_fixture::RedisStage;
use crate::common::store_fixture::{create, in_the_dark, lease, promptly, state, until};
use queuekit_conformance::kit::{TTL, build, draft, kind_of, queue, ttl, worker};
use queuekit_conformance::this_test;
use queuekit_core::capability::Admin;
use queuekit_core::{Backend, BackendExt, ErrorKind, QueueName, Queues, Reserve, State};
use queuekit_integration_tests::servers::{Mode, Proxy};
use queuekit_redis::RedisStore;
use redis::cmd;

const OP_TIMEOUT: Duration = Duration::from_secs(2);

/// Another handle, by way of the proxy.
async fn through(proxy: &Proxy, stage: &RedisStage, settings: &str) -> RedisStore {
    RedisStore::connect_url(&proxy.url(&stage.url(settings))).await.unwrap()
}

/// Of these queues, the first before the others.
fn from(names: [&str; 2], limit: usize) -> Reserve {
    let names: Vec<QueueName> = names.into_iter().map(queue).collect();
    Reserve::new(Queues::from(names), limit, ttl(TTL), worker("w")).unwrap()
}

#[tokio::test]
async fn r0_1_a_cancel_or_retry_whose_reply_was_lost_is_not_made_twice() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let proxy = Proxy::start(&stage.server).await;
    let store = through(&proxy, &stage, "").await;
    // The server learns the script.
    let before = create(&store, &build(draft())).await;
    store.cancel(&[before]).await.unwrap();
    let id = create(&store, &build(draft())).await;
    proxy.set(Mode::LoseReply { after: 0 });
    assert_eq!(kind_of(store.cancel(&[id]).await), ErrorKind::Indeterminate);
    // It connects anew; else it would be the reply to that which is lost.
    assert_eq!(state(&store, id).await, Some(State::Cancelled));
    // A repeat would bring back a job that an operator has cancelled in between.
    proxy.set(Mode::LoseReply { after: 0 });
    assert_eq!(kind_of(store.retry(&[id]).await), ErrorKind::Indeterminate);
    assert_eq!(state(&stage.store, id).await, Some(State::Pending));
    store.close().await.unwrap();
    stage.end().await;
}

#[tokio::test]
async fn r10_2_a_connection_that_said_nothing_in_time_is_not_used_again() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let proxy = Proxy::start(&stage.server).await;
    let short = format!("op_timeout_ms={}", OP_TIMEOUT.as_millis());
    let store = through(&proxy, &stage, &short).await;
    create(&store, &build(draft())).await;
    let before = proxy.counts().accepted;
    proxy.set(Mode::BlackHole);
    in_the_dark("list_queues", OP_TIMEOUT, || store.all_queues()).await;
    proxy.set(Mode::Pass);
    promptly("a call after it", store.all_queues()).await.unwrap();
    assert_eq!(proxy.counts().accepted, before + 1, "connections that were made anew");
    store.close().await.unwrap();
    stage.end().await;
}

/// Else a worker would not know of the jobs it has until their leases run out.
#[tokio::test]
async fn r5_10_what_earlier_queues_granted_is_told_though_a_later_one_fails() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let store = &stage.store;
    let job = create(store, &build(draft().queue("good"))).await;
    create(store, &build(draft().queue("bad"))).await;
    let key = stage.key("bad", "leased");
    let () = stage.ask(cmd("SET").arg(&key).arg("theirs")).await;
    let reserved = store.reserve(&from(["good", "bad"], 10)).await.unwrap();
    let ids: Vec<_> = reserved.leases.iter().map(|lease| lease.token.id).collect();
    assert_eq!(ids, [job]);
    // A call without any leases returns the failure.
    assert_eq!(kind_of(store.reserve(&from(["good", "bad"], 10)).await), ErrorKind::Corrupt);
    stage.end().await;
}

/// A handle does not ask each time whether the queue it uses is on the list of all.
#[tokio::test]
async fn a_queue_that_is_used_returns_to_the_list_of_queues() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    create(&stage.store, &build(draft())).await;
    let registry = format!("{}:queues", stage.prefix);
    let left: u64 = stage.ask(cmd("ZREM").arg(&registry).arg("default")).await;
    assert_eq!(left, 1);
    until("it is on the list", async || {
        stage.store.enqueue_one(build(draft())).await.unwrap();
        !stage.store.all_queues().await.unwrap().is_empty()
    })
    .await;
    assert!(!lease(&stage.store, 1).await.is_empty());
    stage.end().await;
}
