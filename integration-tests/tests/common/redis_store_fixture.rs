//! A Redis store under a prefix of its own, and ways around it to its server.

use std::time::Duration;

use queuekit_conformance::skip;
use queuekit_core::Backend;
use queuekit_integration_tests::raw_dump;
use queuekit_integration_tests::servers::{self, OwnRedis};
use queuekit_redis::{RedisStore, for_tests};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, FromRedisValue, cmd};

/// The scripts' own reading of a job, and then a comparison of all that is derived of jobs.
fn wrong() -> String {
    let pieces = ["Job", "PartitionKey", "Change"];
    for_tests::script(&pieces, include_str!("../../lua/redis_wrong.lua"))
}

/// Likewise of the log of events.
fn wrong_log() -> String {
    for_tests::script(&[], include_str!("../../lua/redis_wrong_log.lua"))
}

/// A step of placing keys anew.
fn place() -> String {
    for_tests::script(&["PartitionKey"], include_str!("../../../queuekit-redis/lua/place.lua"))
}

/// One test's store, whose time passes by itself.
#[derive(Debug)]
pub(crate) struct RedisStage {
    /// The URL of the server.
    pub(crate) server: String,
    pub(crate) prefix: String,
    pub(crate) store: RedisStore,
}

impl RedisStage {
    /// A store in the server that tests share; none where there is no server, and a line on stderr
    /// says so.
    pub(crate) async fn open(test: &str) -> Option<Self> {
        let Some(server) = servers::redis() else {
            skip(test, "there is no Redis server");
            return None;
        };
        Some(Self::at(server.url(), &server.prefix(), "").await)
    }

    /// One in a server of its own, with these settings of its URL.
    pub(crate) async fn own(server: &OwnRedis, settings: &str) -> Self {
        Self::at(&server.url(), "own", settings).await
    }

    async fn at(server: &str, prefix: &str, settings: &str) -> Self {
        let url = url(server, prefix, settings);
        let store = RedisStore::connect_url(&url).await.expect("the store opens");
        Self { server: server.to_owned(), prefix: prefix.to_owned(), store }
    }

    /// The store's URL, with these settings.
    pub(crate) fn url(&self, settings: &str) -> String {
        url(&self.server, &self.prefix, settings)
    }

    /// Another handle, with these settings.
    pub(crate) async fn handle(&self, settings: &str) -> RedisStore {
        RedisStore::connect_url(&self.url(settings)).await.expect("a handle opens")
    }

    /// The key of a part of a queue.
    pub(crate) fn key(&self, queue: &str, part: &str) -> String {
        format!("{}:{{{queue}}}:{queue}:{part}", self.prefix)
    }

    /// All keys of the store, in order.
    pub(crate) async fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> =
            command(&self.server, cmd("KEYS").arg(format!("{}:*", self.prefix))).await;
        keys.sort();
        keys
    }

    /// What the server answers to a command.
    pub(crate) async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> T {
        self::command(&self.server, command).await
    }

    /// Asserts that derived data agrees with the jobs.
    pub(crate) async fn assert_exact(&self) {
        assert_exact(&self.server, &self.prefix).await;
    }

    /// Everything that is stored.
    pub(crate) async fn raw_dump(&self) -> Vec<String> {
        raw_dump::redis(connect(&self.server).await.expect("a connection"), &self.prefix).await
    }

    /// One step of placing keys anew, which looks at `most` of them.
    pub(crate) async fn place(&self, most: usize) {
        let keys = for_tests::queue_parts().iter().map(|part| self.key("default", part));
        let keys: Vec<String> = keys.collect();
        let mut step = cmd("EVAL");
        step.arg(place()).arg(keys.len()).arg(&keys).arg(most);
        let _: i64 = self.ask(&step).await;
    }

    /// Closes the store and removes its keys.
    pub(crate) async fn end(self) {
        self.store.close().await.expect("the store closes");
        remove(&self.server, &self.prefix).await;
    }
}

/// The URL of a store.
pub(crate) fn url(server: &str, prefix: &str, settings: &str) -> String {
    let server = server.trim_end_matches('/');
    format!("{server}/0?prefix={prefix}&{settings}")
}

/// A connection of the test's own.
pub(crate) async fn connect(server: &str) -> redis::RedisResult<MultiplexedConnection> {
    // A server that tests hold up answers late.
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(Duration::from_secs(20)))
        .set_response_timeout(Some(Duration::from_secs(60)));
    Client::open(server)?.get_multiplexed_async_connection_with_config(&config).await
}

/// What the server at this URL answers to a command.
pub(crate) async fn command<T: FromRedisValue>(server: &str, command: &Cmd) -> T {
    let mut connection = connect(server).await.expect("a connection");
    command.query_async(&mut connection).await.expect("the server answers")
}

/// Removes the keys with this prefix.
pub(crate) async fn remove(server: &str, prefix: &str) {
    let keys: Vec<String> = command(server, cmd("KEYS").arg(format!("{prefix}:*"))).await;
    if !keys.is_empty() {
        let _: i64 = command(server, cmd("UNLINK").arg(keys)).await;
    }
}

/// Asserts that derived data agrees with the jobs in each queue, and the parts of the log of events
/// with each other.
pub(crate) async fn assert_exact(server: &str, prefix: &str) {
    let queues: Vec<String> =
        command(server, cmd("ZRANGE").arg(format!("{prefix}:queues")).arg(0).arg(-1)).await;
    for queue in queues {
        assert_queue_exact(server, prefix, &queue).await;
    }
    let key = |part| format!("{prefix}:{{events}}:{part}");
    let keys: Vec<String> = for_tests::log_parts().iter().map(key).collect();
    let mut look = cmd("EVAL");
    look.arg(wrong_log()).arg(keys.len()).arg(&keys);
    let wrong: Vec<String> = command(server, &look).await;
    assert!(wrong.is_empty(), "the log of events: {wrong:#?}");
}

/// Likewise in one queue.
pub(crate) async fn assert_queue_exact(server: &str, prefix: &str, queue: &str) {
    let tag = if queue.starts_with("event.") { "events" } else { queue };
    let key = |part| format!("{prefix}:{{{tag}}}:{queue}:{part}");
    let keys: Vec<String> = for_tests::queue_parts().iter().map(key).collect();
    let mut look = cmd("EVAL");
    look.arg(wrong()).arg(keys.len()).arg(&keys);
    let wrong: Vec<String> = command(server, &look).await;
    assert!(wrong.is_empty(), "{queue}: {wrong:#?}");
}
