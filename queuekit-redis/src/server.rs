//! The facts that a server reports about itself.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::try_join_all;
use queuekit_core::Result;
use queuekit_core::capability::{Cause, Durability, Finding, Severity};
use redis::{Value, cmd};

use crate::RedisStore;
use crate::address::Address;
use crate::call::Request;
use crate::codec::{array_of, bytes_of};
use crate::error::is_forbidden;
use crate::node::Node;
use crate::repeat::Call;

/// The facts that a server reports about itself; empty where it does not let us ask.
#[derive(Clone, Debug, Default)]
pub(crate) struct Server {
    pub(crate) address: Option<Address>,
    /// It is a node of a Cluster.
    pub(crate) is_cluster: bool,
    pub(crate) version: Option<(u32, u32)>,
    pub(crate) is_replica: bool,
    pub(crate) aof: Option<bool>,
    pub(crate) eviction: Option<String>,
    pub(crate) fsync: Option<String>,
    pub(crate) used_memory: Option<String>,
    pub(crate) maxmemory: Option<String>,
    pub(crate) replicas: Option<String>,
}

impl Server {
    /// Asks each server that has data; there is always one.
    pub(crate) async fn ask_all(store: &RedisStore, operation: &'static str) -> Result<Vec<Self>> {
        let masters = store.masters(operation).await?;
        let all = masters.iter().map(|node| Self::ask(store, operation, node));
        try_join_all(all).await
    }

    async fn ask(store: &RedisStore, operation: &'static str, node: &Arc<Node>) -> Result<Self> {
        let ask = |command| {
            let request = Request::To(Arc::clone(node), command);
            async move { store.call(operation, Call::Read, request).await }
        };
        let mut server = match ask(cmd("INFO")).await {
            Ok(info) => parse_info(&String::from_utf8_lossy(&bytes_of(info).unwrap_or_default())),
            // The greeting at least has the version.
            Err(error) if is_forbidden(&error) => {
                ask(cmd("HELLO")).await.ok().map(greeted).unwrap_or_default()
            }
            Err(error) => return Err(error),
        };
        let fsync = ask(cmd("CONFIG").arg("GET").arg("appendfsync").to_owned()).await;
        let fsync = fsync.ok().and_then(array_of).and_then(|parts| parts.into_iter().nth(1));
        server.fsync = fsync.and_then(bytes_of).and_then(|text| String::from_utf8(text).ok());
        server.address.clone_from(&node.address);
        Ok(server)
    }

    /// The server's name at the beginning of an error.
    pub(crate) fn name(&self) -> String {
        match &self.address {
            Some(address) => format!("the server {address}"),
            None => "the server".to_owned(),
        }
    }

    pub(crate) fn durability(&self) -> Durability {
        match (self.aof, self.fsync.as_deref()) {
            (Some(true), Some("always")) => Durability::PowerLoss,
            (Some(true), _) => Durability::ProcessKill,
            _ => Durability::Nothing,
        }
    }

    fn is_full(&self) -> bool {
        let bytes = |text: &Option<String>| text.as_deref().and_then(|text| text.parse().ok());
        let most: u64 = bytes(&self.maxmemory).unwrap_or(0);
        most > 0 && bytes(&self.used_memory).is_some_and(|used| used >= most)
    }

    /// `waits`: the store waits for replicas.
    pub(crate) fn findings(&self, waits: bool) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut find_cause = |severity, cause, message: &str, remedy: &str| {
            let (message, remedy) = (format!("{}: {message}", self.name()), remedy.to_owned());
            findings.push(Finding { severity, cause, message, remedy });
        };
        if self.is_replica {
            let message = "this is a replica: it takes no writes, or loses them";
            find_cause(Severity::Error, Cause::Operation, message, "connect to its master");
        }
        if self.is_full() {
            let message = "the server's memory is full: enqueues fail, but workers can run the \
                           stored jobs";
            let remedy = "raise maxmemory, or let workers drain the queues";
            find_cause(Severity::Error, Cause::Operation, message, remedy);
        }
        let mut find = |severity, message: &str, remedy: &str| {
            find_cause(severity, Cause::Setup, message, remedy);
        };
        if self.aof.is_none() {
            let message = "the server does not answer INFO, so its settings are not checked";
            find(Severity::Warning, message, "grant this user INFO");
        }
        if self.aof == Some(false) {
            let message = "there is no append-only file: jobs are lost when the server stops";
            find(Severity::Error, message, "set `appendonly yes`");
        }
        if self.eviction.as_deref().is_some_and(|policy| policy != "noeviction") {
            let message = "the server evicts keys when it is full: jobs are lost";
            find(Severity::Error, message, "set `maxmemory-policy noeviction`");
        }
        match self.fsync.as_deref() {
            Some("everysec") => {
                let message = "if the machine fails, or the server is killed while its disk is \
                               busy, jobs of the last two seconds may be lost";
                let remedy = "set `appendfsync always` if that is too much";
                find(Severity::Note, message, remedy);
            }
            Some("no") => {
                let message = "if the machine fails, jobs of the last half minute may be lost";
                find(Severity::Warning, message, "set `appendfsync everysec` or `always`");
            }
            None if self.aof == Some(true) => {
                let message = "the server does not reveal how often it syncs its append-only file";
                let remedy = "connect as a user with +config|get: docs/redis.md, Users";
                find(Severity::Warning, message, remedy);
            }
            _ => {}
        }
        if self.replicas.as_deref().is_some_and(|count| count != "0") && !waits {
            let message = "a failover may lose jobs that no replica had yet";
            find(Severity::Note, message, "open the store with wait_replicas=1");
        }
        findings
    }
}

/// Reads names and values in turn, in the forms of both protocols.
fn greeted(greeting: Value) -> Server {
    let parts = match greeting {
        Value::Map(pairs) => pairs.into_iter().flat_map(|(name, value)| [name, value]).collect(),
        parts => array_of(parts).unwrap_or_default(),
    };
    let fields = fields_of(parts.into_iter());
    let text = |name| fields.get(name).and_then(|value| std::str::from_utf8(value).ok());
    Server {
        version: text("version").and_then(parse_version),
        is_cluster: text("mode") == Some("cluster"),
        ..Server::default()
    }
}

/// Names and values in turn.
fn fields_of(mut values: impl Iterator<Item = Value>) -> HashMap<String, Vec<u8>> {
    let mut fields = HashMap::new();
    while let (Some(name), Some(value)) = (values.next(), values.next()) {
        if let (Some(Ok(name)), Some(value)) =
            (bytes_of(name).map(String::from_utf8), bytes_of(value))
        {
            fields.insert(name, value);
        }
    }
    fields
}

fn parse_version(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

pub(crate) fn parse_info(info: &str) -> Server {
    let value = |name: &str| {
        let mut lines = info.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| *key == name).map(|(_, value)| value.trim().to_owned())
    };
    Server {
        address: None,
        // Valkey has another name for this field.
        is_cluster: ["redis_mode", "server_mode"]
            .iter()
            .any(|name| value(name).as_deref() == Some("cluster")),
        version: value("redis_version").as_deref().and_then(parse_version),
        is_replica: value("role").is_some_and(|role| role != "master"),
        aof: value("aof_enabled").map(|enabled| enabled == "1"),
        eviction: value("maxmemory_policy"),
        fsync: None,
        used_memory: value("used_memory"),
        maxmemory: value("maxmemory"),
        replicas: value("connected_slaves"),
    }
}
