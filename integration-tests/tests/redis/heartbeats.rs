//! Heartbeats have a connection that other calls cannot hold up (contract R13.1), and leave nothing
//! of workers that are gone (R3.9).

use crate::common::redis_store_fixture::RedisStage;
use crate::common::store_fixture::{create, lease, promptly};
use crate::scale::Scale;
use queuekit_conformance::kit::{
    HOUR, MILLISECOND, TTL, beat_of, build, draft, millis, ttl, worker,
};
use queuekit_conformance::this_test;
use queuekit_core::Backend;
use queuekit_core::capability::{Control, ExtendOutcome, Leases, Orders, WorkerOrder};
use queuekit_integration_tests::servers::Proxy;
use queuekit_redis::RedisStore;
use redis::cmd;

/// R13.1: a heartbeat arrives while the connection for calls does not move.
/// Guard: extend and beat use a connection of their own.
#[tokio::test]
async fn r13_1_a_heartbeat_arrives_while_the_connection_for_calls_is_held_up() {
    let Some(stage) = RedisStage::open(this_test!()).await else { return };
    let proxy = Proxy::start(&stage.server).await;
    // The first connection is that for calls.
    let store = RedisStore::connect_url(&proxy.url(&stage.url(""))).await.unwrap();
    create(&store, &build(draft())).await;
    let leased = [lease(&store, 1).await.remove(0).token];
    let alive = ExtendOutcome::Extended { ttl: TTL, cancel_requested: false };
    assert_eq!(store.extend(&leased, ttl(TTL)).await.unwrap(), [alive]);
    let connections = proxy.counts().accepted;
    proxy.hold(Some(1));
    let extended = promptly("an extend", store.extend(&leased, ttl(TTL))).await;
    assert_eq!(extended.unwrap(), [alive]);
    promptly("a beat", store.beat(&beat_of("w"))).await.unwrap();
    assert_eq!(proxy.counts().accepted, connections, "none was made for it");
    proxy.hold(None);
    store.close().await.unwrap();
    stage.end().await;
}

/// What was said by workers that are gone is not kept.
#[tokio::test]
async fn r3_9_beats_of_the_gone_are_forgotten() {
    let Some(scale) = Scale::open(this_test!()).await else { return };
    for old in 0..5 {
        scale.store().beat(&beat_of(&format!("old-{old}"))).await.unwrap();
    }
    scale.clock.jump(millis(HOUR)).await;
    scale.store().beat(&beat_of("new")).await.unwrap();
    let beats = format!("{}:{{workers}}:beats", scale.stage.prefix);
    assert_eq!(scale.stage.ask::<u64>(cmd("HLEN").arg(beats)).await, 1);
}

/// R3.9: a beat removes at most 100 of the beats that ran out, and so perhaps not that of its own
/// worker, whose orders are gone all the same.
/// Guard: the time of the last beat, where its orders are read.
#[tokio::test]
async fn r3_9_orders_are_gone_though_many_beats_ran_out_before() {
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let store = scale.store();
    for old in 0..101 {
        store.beat(&beat_of(&format!("old-{old}"))).await.unwrap();
    }
    scale.clock.jump(millis(MILLISECOND)).await;
    store.beat(&beat_of("new")).await.unwrap();
    assert_eq!(store.control(&[worker("new")], WorkerOrder::Stop).await.unwrap(), [true]);
    scale.clock.jump(millis(HOUR)).await;
    assert_eq!(store.beat(&beat_of("new")).await.unwrap(), Orders::default());
}
