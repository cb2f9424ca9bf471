//! A failover to a replica that has not received the last writes (contract R11.3).

use crate::common::redis_nodes::{queue_on, role};
use crate::common::redis_store_fixture::{assert_queue_exact, command};
use crate::common::store_fixture::until;
use queuekit_conformance::{skip, this_test};
use queuekit_core::QueueName;
use queuekit_integration_tests::servers::{OwnRedis, RedisCluster, RedisSentinels};
use queuekit_redis::RedisStore;
use redis::cmd;

use super::lossy::{assert_lost, lose, store_two};

const NO_PROGRAM: &str = "there is no program of Redis";

/// Ends the replication for good: the master does not let the replica in again.
async fn cut_off(master: &OwnRedis, replica: &OwnRedis) {
    for (name, value) in [("masteruser", "nobody"), ("masterauth", "none")] {
        let set = cmd("CONFIG").arg("SET").arg(name).arg(value).to_owned();
        let () = command(&replica.url(), &set).await;
    }
    let kill = cmd("CLIENT").arg("KILL").arg("TYPE").arg("replica").to_owned();
    let killed: u64 = command(&master.url(), &kill).await;
    assert_eq!(killed, 1, "the connection of the replica");
}

/// Stores what is not lost, once the replica has it.
async fn stored(url: &str, queue: &QueueName) -> [queuekit_core::JobId; 2] {
    let waits = RedisStore::connect_url(&format!("{url}?wait_replicas=1")).await.unwrap();
    store_two(&waits, queue).await
}

#[tokio::test]
async fn r11_3_the_fence_holds_after_a_lossy_failover_by_sentinels() {
    let test = this_test!();
    let Some(mut sentinels) = RedisSentinels::start(OwnRedis::settings()).await else {
        return skip(test, NO_PROGRAM);
    };
    let queue = QueueName::default();
    let stored = stored(&sentinels.url(), &queue).await;
    let store = RedisStore::connect_url(&sentinels.url()).await.unwrap();
    let replica = sentinels.second().url();
    let (master, follower) = sentinels.both();
    cut_off(master, follower).await;
    let lost = lose(&store, &queue, stored).await;
    sentinels.first().kill();
    let second = sentinels.second();
    until("the replica is the master", async || role(second).await == "master").await;
    let exact = async || assert_queue_exact(&replica, "qk", queue.as_str()).await;
    assert_lost(&store, &queue, &lost, exact).await;
}

#[tokio::test]
async fn r11_3_the_fence_holds_after_a_lossy_failover_within_the_cluster() {
    let test = this_test!();
    let Some(mut cluster) = RedisCluster::start(OwnRedis::settings(), 3, 1).await else {
        return skip(test, NO_PROGRAM);
    };
    let queue = queue_on(&cluster, 0).await;
    let stored = stored(&cluster.url(), &queue).await;
    let store = RedisStore::connect_url(&cluster.url()).await.unwrap();
    let (master, replica) = (cluster.nodes().next().unwrap(), cluster.nodes().last().unwrap());
    cut_off(master, replica).await;
    let lost = lose(&store, &queue, stored).await;
    cluster.master(0).kill();
    let replica = cluster.nodes().last().unwrap();
    until("the replica is the master", async || role(replica).await == "master").await;
    let exact = async || assert_queue_exact(&replica.url(), "qk", queue.as_str()).await;
    assert_lost(&store, &queue, &lost, exact).await;
}
