//! The clock of a Redis store under test. It is kept in the store, and its scripts read it where
//! they ask for `TIME`: so they run as they do elsewhere, and no client's clock is sent.

use queuekit_redis::RedisConfig;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, cmd};

use super::redis_store_fixture::connect;

/// A clock that tests move.
pub(crate) struct RedisClock {
    key: String,
    /// One to each server.
    connections: Vec<MultiplexedConnection>,
}

/// Whether time passes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passes {
    /// The clock is fixed until it is moved.
    No,
    /// It runs with the server's.
    Yes,
}

impl RedisClock {
    /// The clock for a store of these servers, and how to open the store with it.
    pub(crate) async fn of(
        config: RedisConfig,
        servers: &[String],
        passes: Passes,
    ) -> (RedisConfig, Self) {
        let key = format!("{}:test_clock", config.prefix_for_tests());
        let mut connections = Vec::new();
        for server in servers {
            connections.push(connect(server).await.expect("a connection"));
        }
        let is_cluster = servers.len() > 1;
        let clock = Self { key, connections };
        let start = if passes == Passes::No { 1_767_225_600_000_i64 } else { 0 };
        clock.write(cmd("SET").arg(&clock.key).arg(start)).await;
        // The key is an argument and not in the text, so that all tests run the same scripts. In a
        // Cluster a script reads keys of one slot: the store hands it what is written there.
        let read = match is_cluster {
            true => "table.remove(ARGV)",
            false => "redis.call('GET', table.remove(ARGV))",
        };
        let stands = if passes == Passes::No { "true" } else { "false" };
        let lua = include_str!("../../lua/redis_clock.lua").lines();
        let lua: String = lua
            .filter(|line| !line.starts_with("--"))
            .map(|line| line.replace("CLOCK", read).replace("STANDS", stands) + "\n")
            .collect();
        (config.clock_for_tests(&lua, &clock.key), clock)
    }

    /// Moves the clock, back if below 0.
    pub(crate) async fn jump(&self, by_ms: i64) {
        self.write(cmd("INCRBY").arg(&self.key).arg(by_ms)).await;
    }

    /// On the server that has the key.
    async fn write(&self, command: &Cmd) {
        for connection in &self.connections {
            let mut connection = connection.clone();
            if command.query_async::<redis::Value>(&mut connection).await.is_ok() {
                return;
            }
        }
        panic!("no server has {}", self.key);
    }
}
