//! What `doctor` asks.

use async_trait::async_trait;
use queuekit_core::Result;
use queuekit_core::capability::{Durability, Fact, Finding, Inspect, Severity};
use redis::{Value, cmd};

use crate::RedisStore;
use crate::call::{Call, Request};
use crate::codec::{array_of, bytes_of};
use crate::error::is_forbidden;

/// What the server says of itself; nothing where it does not let us ask.
#[derive(Clone, Debug, Default)]
pub(crate) struct Server {
    pub(crate) version: Option<(u32, u32)>,
    pub(crate) is_replica: bool,
    pub(crate) aof: Option<bool>,
    pub(crate) eviction: Option<String>,
    fsync: Option<String>,
    used_memory: Option<String>,
    maxmemory: Option<String>,
    replicas: Option<String>,
}

impl Server {
    pub(crate) async fn ask(store: &RedisStore) -> Result<Self> {
        let ask = |command| async move {
            store.call("inspect", Call::Read, Request::Command(command)).await
        };
        let mut server = match ask(cmd("INFO")).await {
            Ok(info) => parse_info(&String::from_utf8_lossy(&bytes_of(info).unwrap_or_default())),
            // Who connects is told the version, if nothing else.
            Err(error) if is_forbidden(&error) => {
                let version = ask(cmd("HELLO")).await.ok().and_then(greeted_version);
                Self { version, ..Self::default() }
            }
            Err(error) => return Err(error),
        };
        let fsync = ask(cmd("CONFIG").arg("GET").arg("appendfsync").to_owned()).await;
        let fsync = fsync.ok().and_then(array_of).and_then(|parts| parts.into_iter().nth(1));
        server.fsync = fsync.and_then(bytes_of).and_then(|text| String::from_utf8(text).ok());
        Ok(server)
    }

    fn durability(&self) -> Durability {
        match (self.aof, self.fsync.as_deref()) {
            (Some(true), Some("always")) => Durability::PowerLoss,
            (Some(true), _) => Durability::ProcessKill,
            _ => Durability::Nothing,
        }
    }
}

/// Names and values in turn, in whatever form the protocol has for that.
fn greeted_version(greeting: Value) -> Option<(u32, u32)> {
    let parts = match greeting {
        Value::Map(pairs) => pairs.into_iter().flat_map(|(name, value)| [name, value]).collect(),
        parts => array_of(parts)?,
    };
    let mut parts = parts.into_iter().filter_map(bytes_of);
    parts.find(|name| name == b"version")?;
    parse_version(std::str::from_utf8(&parts.next()?).ok()?)
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

#[async_trait]
impl Inspect for RedisStore {
    async fn durability(&self) -> Result<Durability> {
        Ok(Server::ask(self).await?.durability())
    }

    async fn facts(&self) -> Result<Vec<Fact>> {
        let server = Server::ask(self).await?;
        let unknown = || "not told".to_owned();
        let on_off = |on| if on { "on" } else { "off" }.to_owned();
        let version = server.version.map(|(major, minor)| format!("{major}.{minor}"));
        let facts = [
            ("redis version", version),
            ("append-only file", server.aof.map(on_off)),
            ("appendfsync", server.fsync),
            ("maxmemory-policy", server.eviction),
            ("used memory, bytes", server.used_memory),
            ("maxmemory, bytes", server.maxmemory),
            ("replicas", server.replicas),
            ("prefix", Some(self.shared.keyspace.prefix().to_owned())),
            ("queues", Some(self.all_queues().await?.len().to_string())),
        ];
        let fact = |(name, value): (_, Option<String>)| Fact {
            name,
            value: value.unwrap_or_else(unknown),
        };
        Ok(facts.into_iter().map(fact).collect())
    }

    async fn findings(&self) -> Result<Vec<Finding>> {
        let server = Server::ask(self).await?;
        let mut findings = Vec::new();
        let mut find = |severity, message: &str, remedy: &str| {
            let (message, remedy) = (message.to_owned(), remedy.to_owned());
            findings.push(Finding { severity, message, remedy });
        };
        if server.aof.is_none() {
            let message = "the server tells nothing of itself, so its settings are not checked";
            find(Severity::Warning, message, "grant this user INFO");
        }
        if server.aof == Some(false) {
            let message = "there is no append-only file: jobs are gone when the server ends";
            find(Severity::Error, message, "set `appendonly yes`");
        }
        if server.eviction.as_deref().is_some_and(|policy| policy != "noeviction") {
            let message = "the server drops keys when it is full: jobs vanish";
            find(Severity::Error, message, "set `maxmemory-policy noeviction`");
        }
        match server.fsync.as_deref() {
            Some("everysec") => {
                let message = "when the machine fails, or the server is killed while its disk \
                               is busy, the last second or two of jobs may vanish";
                let remedy = "set `appendfsync always` if that is too much";
                find(Severity::Note, message, remedy);
            }
            Some("no") => {
                let message = "when the machine fails, half a minute of jobs may vanish";
                find(Severity::Warning, message, "set `appendfsync everysec` or `always`");
            }
            _ => {}
        }
        if server.replicas.as_deref().is_some_and(|count| count != "0")
            && self.shared.wait_replicas.is_none()
        {
            let message = "a failover may lose jobs that no replica had yet";
            find(Severity::Note, message, "open the store with wait_replicas=1");
        }
        Ok(findings)
    }
}
