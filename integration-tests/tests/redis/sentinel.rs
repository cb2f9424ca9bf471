//! The Redis store behind sentinels whose master dies.

use std::time::Duration;

use crate::common::redis_load::Load;
use crate::common::redis_nodes::{Hung, role};
use crate::common::redis_store_fixture::command;
use crate::common::store_fixture::{create, lease, until};
use queuekit_conformance::kit::{build, draft};
use queuekit_conformance::{skip, this_test};
use queuekit_core::{BackendExt, ErrorKind, QueueName};
use queuekit_integration_tests::servers::{OwnRedis, RedisSentinels};
use queuekit_redis::RedisStore;
use redis::cmd;

async fn sentinels(test: &str) -> Option<RedisSentinels> {
    let sentinels = RedisSentinels::start(OwnRedis::settings()).await;
    if sentinels.is_none() {
        skip(test, "there is no program of Redis");
    }
    sentinels
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r11_1_a_failover_by_sentinels_loses_nothing_that_a_replica_was_waited_for() {
    let test = this_test!();
    let Some(mut sentinels) = sentinels(test).await else { return };
    let url = format!("{}?wait_replicas=1", sentinels.url());
    let queue = QueueName::default();
    let load = Load::begin(&url, std::slice::from_ref(&queue), Duration::from_secs(2)).await;
    load.goes_on(&queue).await;
    sentinels.first().kill();
    let second = sentinels.second();
    until("the replica is the master", async || role(second).await == "master").await;
    sentinels.be_patient().await.expect("sentinels");
    // Without a replica nothing is answered for, until the old master follows the new one.
    sentinels.first().restart().await;
    let first = sentinels.first();
    // Sentinels look at it every ten seconds, and give it some to find out by itself.
    let follows = async {
        while role(first).await != "slave" {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), follows).await.expect("the old master follows");
    load.goes_on(&queue).await;
    load.end().await;
}

#[tokio::test]
async fn r10_2_a_master_that_is_demoted_is_left_for_the_new_one() {
    let test = this_test!();
    let Some(mut sentinels) = sentinels(test).await else { return };
    let store = RedisStore::connect_url(&sentinels.url()).await.unwrap();
    create(&store, &build(draft())).await;
    let asked = sentinels.failover().await;
    asked.unwrap();
    let second = sentinels.second();
    until("the replica is the master", async || role(second).await == "master").await;
    create(&store, &build(draft())).await;
    assert_eq!(lease(&store, 10).await.len(), 2);
    let keys: u64 = command(&second.url(), &cmd("DBSIZE")).await;
    assert!(keys > 0, "it is stored where the master is now");
    tokio::time::timeout(Duration::from_secs(5), async {
        queuekit_core::Backend::close(&store).await.unwrap();
    })
    .await
    .expect("close should succeed");
}

#[tokio::test]
async fn r10_2_a_master_that_hangs_is_left_for_the_one_that_takes_its_place() {
    let test = this_test!();
    let Some(mut sentinels) = sentinels(test).await else { return };
    let store = RedisStore::connect_url(&sentinels.url()).await.unwrap();
    let waits = RedisStore::connect_url(&format!("{}?wait_replicas=1", sentinels.url())).await;
    create(&waits.unwrap(), &build(draft())).await;
    lease(&store, 1).await;
    let _hung = Hung::new(sentinels.first());
    let call = store.enqueue_one(build(draft()));
    tokio::time::timeout(Duration::from_secs(9), call).await.expect("within op_timeout").unwrap();
    assert_eq!(lease(&store, 10).await.len(), 1);
    assert_eq!(role(sentinels.second()).await, "master");
}

#[tokio::test]
async fn r10_1_a_master_that_no_sentinel_knows_is_told_at_once() {
    let test = this_test!();
    let Some(sentinels) = sentinels(test).await else { return };
    let url = sentinels.url().replace("/jobs", "/others");
    let opened =
        crate::common::store_fixture::promptly("the answer", RedisStore::connect_url(&url)).await;
    let error = opened.expect_err("nobody knows it");
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("\"others\""), "{error}");
}
