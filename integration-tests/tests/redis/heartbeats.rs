//! Heartbeats have a connection that other calls cannot hold up (contract R13.1).

use crate::common::redis_store_fixture::RedisStage;
use crate::common::store_fixture::{create, lease, promptly};
use queuekit_conformance::kit::{TTL, beat_of, build, draft, ttl};
use queuekit_conformance::this_test;
use queuekit_core::Backend;
use queuekit_core::capability::{ExtendOutcome, Leases};
use queuekit_integration_tests::servers::Proxy;
use queuekit_redis::RedisStore;

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
