//! The Redis store under the suite: each case has a prefix of its own.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use queuekit_conformance::kit::{limits, millis};
use queuekit_conformance::{Capability, Expect, Harness, World};
use queuekit_core::capability::Durability;
use queuekit_core::{Backend, JobId};
use queuekit_integration_tests::raw_dump;
use queuekit_integration_tests::servers::{self, OwnRedis};
use queuekit_redis::{RedisConfig, RedisStore};
use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;

use super::redis_clock::{Passes, RedisClock};
use super::redis_store_fixture::connect;

/// Opens stores on clocks that only the suite moves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RedisHarness;

/// Opens stores whose time passes by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LiveRedisHarness;

/// As [`RedisHarness`], in a Cluster.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClusterHarness;

#[async_trait]
impl Harness for RedisHarness {
    async fn open(&self) -> Arc<dyn World> {
        Arc::new(RedisWorld::open(config(), Passes::No).await)
    }

    async fn why_absent(&self) -> Option<String> {
        why_absent()
    }
}

#[async_trait]
impl Harness for ClusterHarness {
    async fn open(&self) -> Arc<dyn World> {
        let cluster = servers::redis_cluster().expect("a Cluster");
        let config = RedisConfig::from_url(&cluster.url()).expect("a URL");
        let config = config.prefix(&cluster.prefix()).expect("a prefix").limits(limits());
        let servers: Vec<String> = cluster.nodes().map(OwnRedis::url).collect();
        Arc::new(RedisWorld::on(&servers, config, Passes::No).await)
    }

    async fn why_absent(&self) -> Option<String> {
        servers::redis_cluster().is_none().then(|| "there is no program of Redis".to_owned())
    }
}

#[async_trait]
impl Harness for LiveRedisHarness {
    async fn open(&self) -> Arc<dyn World> {
        Arc::new(RedisWorld::open(config(), Passes::Yes).await)
    }

    async fn why_absent(&self) -> Option<String> {
        why_absent()
    }
}

fn why_absent() -> Option<String> {
    servers::redis().is_none().then(|| "there is no Redis server".to_owned())
}

/// How to open a store under a new prefix of the tests' server.
pub(crate) fn config() -> RedisConfig {
    let server = servers::redis().expect("a server");
    let config = RedisConfig::from_url(server.url()).expect("a URL");
    config.prefix(&server.prefix()).expect("a prefix").limits(limits())
}

/// A store, and a connection to its server.
pub(crate) struct RedisWorld {
    config: RedisConfig,
    backend: Arc<dyn Backend>,
    clock: RedisClock,
    passes: Passes,
    /// One to each server.
    connections: Vec<MultiplexedConnection>,
}

impl RedisWorld {
    pub(crate) async fn open(config: RedisConfig, passes: Passes) -> Self {
        let server = servers::redis().expect("a server").url().to_owned();
        Self::on(&[server], config, passes).await
    }

    async fn on(servers: &[String], config: RedisConfig, passes: Passes) -> Self {
        let (config, clock) = RedisClock::of(config, servers, passes).await;
        let store = RedisStore::connect(config.clone()).await.expect("the store opens");
        let mut connections = Vec::new();
        for server in servers {
            connections.push(connect(server).await.expect("a connection"));
        }
        Self { config, backend: Arc::new(store), clock, passes, connections }
    }

    /// Each with a connection to the server that has it.
    async fn keys(&self, parts: &str) -> Vec<(MultiplexedConnection, String)> {
        let mut all = Vec::new();
        for connection in &self.connections {
            let pattern = format!("{}:{parts}", self.config.prefix_for_tests());
            let keys: Vec<String> =
                connection.clone().keys(pattern).await.expect("the keys are listed");
            all.extend(keys.into_iter().map(|key| (connection.clone(), key)));
        }
        all
    }
}

#[async_trait]
impl World for RedisWorld {
    fn expect(&self) -> Expect {
        Expect {
            capabilities: &Capability::ALL,
            can_corrupt: true,
            can_rewind: true,
            clock_stands: self.passes == Passes::No,
            second_handle: true,
            cancels_cross_handles: true,
            raw_dump: true,
            // A Cluster has several servers.
            atomic_across_queues: self.connections.len() == 1,
            durability: Some(Durability::ProcessKill),
            ..Expect::TEN_OPERATIONS
        }
    }

    fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    async fn advance(&self, by: Duration) {
        self.clock.jump(millis(by)).await;
    }

    async fn rewind(&self, by: Duration) -> bool {
        self.clock.jump(-millis(by)).await;
        true
    }

    async fn second_handle(&self) -> Option<Arc<dyn Backend>> {
        let second = RedisStore::connect(self.config.clone()).await;
        Some(Arc::new(second.expect("a second handle opens")))
    }

    async fn corrupt(&self, id: JobId) -> bool {
        let mut corrupted = false;
        for (mut connection, key) in self.keys("*:data").await {
            let data: Option<Vec<u8>> =
                connection.hget(&key, id.as_bytes()).await.expect("the server answers");
            if let Some(mut data) = data {
                // The version, which a program reads first: one that does not know it cannot read
                // the rest.
                data[45] = 0xff;
                let broken: i32 =
                    connection.hset(&key, id.as_bytes(), data).await.expect("it is broken");
                corrupted = broken == 0;
            }
        }
        corrupted
    }

    async fn raw_dump(&self) -> Option<Vec<String>> {
        let mut lines = Vec::new();
        for connection in &self.connections {
            let prefix = self.config.prefix_for_tests();
            lines.extend(raw_dump::redis(connection.clone(), prefix).await);
        }
        Some(lines)
    }

    async fn dispose(&self) {
        self.backend.close().await.expect("the store closes");
        for (mut connection, key) in self.keys("*").await {
            let _: i32 = connection.unlink(key).await.expect("the keys go");
        }
    }
}
