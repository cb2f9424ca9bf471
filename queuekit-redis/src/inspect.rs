//! The checks of `doctor`.

use async_trait::async_trait;
use queuekit_core::Result;
use queuekit_core::capability::{Durability, Fact, Finding, Inspect};

use redis::cmd;

use crate::RedisStore;
use crate::call::Request;
use crate::repeat::Call;
use crate::server::Server;

#[async_trait]
impl Inspect for RedisStore {
    /// Makes a write that changes nothing. A server without memory takes it, as it takes an ack:
    /// its queues can still be drained. In a Cluster it asks the node that has the version.
    async fn check_writes(&self) -> Result<()> {
        let key = self.shared.keyspace.version();
        let command = cmd("PERSIST").arg(&key).to_owned();
        let write = Request::Command { key, command };
        self.call("check_writes", Call::Repeatable, write).await.map(drop)
    }

    /// The durability; in a Cluster, that of the weakest node.
    async fn durability(&self) -> Result<Durability> {
        let all = Server::ask_all(&self.for_one_call(), "inspect")
            .await?
            .into_iter()
            .map(|server| server.durability());
        Ok(all.min().unwrap_or(Durability::Nothing))
    }

    async fn facts(&self) -> Result<Vec<Fact>> {
        let store = self.for_one_call();
        let servers = Server::ask_all(&store, "inspect").await?;
        let of = |value: fn(&Server) -> Option<String>| shown(servers.iter().map(value));
        let on_off = |on| if on { "on" } else { "off" }.to_owned();
        let facts = [
            ("servers", of(|server| server.address.as_ref().map(ToString::to_string))),
            (
                "redis version",
                of(|server| server.version.map(|(major, minor)| format!("{major}.{minor}"))),
            ),
            ("cluster", on_off(self.shared.topology.is_cluster())),
            (
                "append-only file",
                of(|server| server.aof.map(|on| if on { "on" } else { "off" }.to_owned())),
            ),
            ("appendfsync", of(|server| server.fsync.clone())),
            ("maxmemory-policy", of(|server| server.eviction.clone())),
            ("used memory, bytes", of(|server| server.used_memory.clone())),
            ("maxmemory, bytes", of(|server| server.maxmemory.clone())),
            ("replicas", of(|server| server.replicas.clone())),
            ("prefix", self.shared.keyspace.prefix().to_owned()),
            ("queues", store.count_queues().await?),
        ];
        Ok(facts.into_iter().map(|(name, value)| Fact { name, value }).collect())
    }

    async fn findings(&self) -> Result<Vec<Finding>> {
        let waits = self.shared.wait_replicas.is_some();
        let servers = Server::ask_all(&self.for_one_call(), "inspect").await?;
        Ok(servers.iter().flat_map(|server| server.findings(waits)).collect())
    }
}

/// The values, shown once if they are the same for all servers.
fn shown(values: impl Iterator<Item = Option<String>>) -> String {
    let unknown = || "unknown".to_owned();
    let mut values: Vec<String> = values.map(|value| value.unwrap_or_else(unknown)).collect();
    values.dedup();
    values.join(", ")
}
