//! Opening a store: checks the server, its durability, and the version of its data.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

use queuekit_core::capability::{Migrations, Resting, WakeupHub};
use queuekit_core::{Error, ErrorKind, Result};
use redis::ConnectionInfo;
use tokio::sync::Semaphore;

use crate::address::Address;
use crate::cancels::Cancels;
use crate::cluster::Cluster;
use crate::config::{Found, RedisConfig};
use crate::io::Io;
use crate::keys::Keyspace;
use crate::marker::Marker;
use crate::node::Node;
use crate::scripts::Scripts;
use crate::sentinel::Sentinels;
use crate::server::Server;
use crate::topology::Topology;
use crate::{RedisStore, Shared, connection, tls};

/// From this version on, the first line of a script declares whether it may run when the server is
/// full.
const FLAGS: (u32, u32) = (7, 0);
/// The oldest version that is supported.
const OLDEST: (u32, u32) = (6, 2);

pub(crate) async fn open(config: RedisConfig, checked: bool) -> Result<RedisStore> {
    let mut config = config;
    config.server = tls::with_certificates(config.server, config.root_certificates.as_deref())?;
    let (mut store, mut servers) = ask(&config).await?;
    if !store.shared.topology.is_cluster() && servers.iter().any(|server| server.is_cluster) {
        store.end().await;
        config.found = Found::Cluster(Vec::new());
        (store, servers) = ask(&config).await?;
    }
    let flags = |server: &Server| server.version.is_some_and(|version| version >= FLAGS);
    if servers.iter().all(flags)
        && let Some(shared) = Arc::get_mut(&mut store.shared)
    {
        shared.scripts = scripts(&config, true);
    }
    if checked {
        for server in &servers {
            check(server, config.allow_volatile)?;
        }
        if config.migrate {
            store.up().await?;
        } else {
            store.status().await?.check()?;
        }
    }
    Ok(store)
}

/// Opens a store without checks, and asks its servers about themselves.
async fn ask(config: &RedisConfig) -> Result<(RedisStore, Vec<Server>)> {
    let store = unasked(config)?;
    let servers = Server::ask_all(&store, "connect").await?;
    Ok((store, servers))
}

/// A store that connects when it is first used.
pub(crate) fn unasked(config: &RedisConfig) -> Result<RedisStore> {
    let io = Io::start()?;
    let topology = topology(config, &io)?;
    Ok(RedisStore { shared: Arc::new(shared(config, io, topology)), ends_at: None })
}

fn topology(config: &RedisConfig, io: &Io) -> Result<Topology> {
    let server = match &config.found {
        Found::Cluster(seeds) => return cluster(config, seeds, io),
        Found::Here => Node::at(&config.server, io.handle()),
        Found::Sentinels { sentinels, master } => {
            let like = |sentinel| encrypted_like(&config.server, sentinel);
            let sentinels = sentinels.iter().map(like).collect();
            let found = Sentinels::new(sentinels, master.clone(), config.server.clone());
            Node::of(&connection::Server::Master(Arc::new(found)), io.handle())
        }
    };
    Ok(Topology::One(Arc::new(server)))
}

/// The Cluster to which the configured server and these nodes belong.
fn cluster(config: &RedisConfig, more: &[Address], io: &Io) -> Result<Topology> {
    let server = &config.server;
    if server.redis_settings().db() != 0 {
        let got = server.redis_settings().db().to_string();
        return Err(Error::invalid("url", "database 0, the only one of a Cluster", got));
    }
    let seeds: Vec<Address> = Address::of(server).into_iter().chain(more.iter().cloned()).collect();
    Ok(Topology::Cluster(Box::new(Cluster::new(server.clone(), seeds, io.handle()))))
}

fn encrypted_like(server: &ConnectionInfo, sentinel: &ConnectionInfo) -> ConnectionInfo {
    let settings = sentinel.redis_settings().clone();
    let address = Address::of(sentinel).map(|address| address.like(server));
    address.unwrap_or_else(|| sentinel.clone()).set_redis_settings(settings)
}

fn shared(config: &RedisConfig, io: Io, topology: Topology) -> Shared {
    Shared {
        io,
        topology,
        scripts: scripts(config, false),
        keyspace: Keyspace::new(&config.prefix),
        known: crate::known_queues::Known::default(),
        wakeups: Arc::new(WakeupHub::default()),
        marker: Marker::default(),
        resting: Resting::default(),
        cancels: Cancels::default(),
        counting: Semaphore::new(1),
        op_timeout: config.op_timeout,
        wait_replicas: config.wait_replicas,
        limits: config.limits,
        test_clock: config.test_clock.as_ref().map(|clock| clock.key.clone()),
        repair: crate::upkeep::Cursor::default(),
        pruned: crate::upkeep::Cursor::default(),
        pruned_events: AtomicU64::new(0),
        closed: AtomicBool::new(false),
        calls: AtomicUsize::new(0),
    }
}

fn scripts(config: &RedisConfig, flags: bool) -> Arc<Scripts> {
    let clock = config.test_clock.as_ref().map_or("", |clock| &clock.lua);
    Scripts::of(flags, clock, &config.limits)
}

/// Refuses a server that may lose stored data (contract R11.2).
fn check(server: &Server, allow_volatile: bool) -> Result<()> {
    let name = server.name();
    let refuse = |kind, message: &str| Err(Error::new(kind, format!("{name} {message}")));
    if let Some(version) = server.version.filter(|version| *version < OLDEST) {
        let message =
            format!("is version {}.{}; 6.2 and later are supported", version.0, version.1);
        return refuse(ErrorKind::Unsupported, &message);
    }
    if server.aof.is_none() {
        tracing::warn!("{name} does not answer INFO; its settings are not checked");
    }
    if allow_volatile {
        return Ok(());
    }
    if server.is_replica {
        return refuse(ErrorKind::Unavailable, "is a replica; connect to its master");
    }
    if server.aof == Some(false) {
        let message = "has no append-only file: jobs would be lost when it stops; set `appendonly \
                       yes`, or accept it with allow_volatile=on";
        return refuse(ErrorKind::Unavailable, message);
    }
    if let Some(policy) = server.eviction.as_deref().filter(|policy| *policy != "noeviction") {
        let message = format!(
            "evicts keys when it is full ({policy}): jobs would be lost; set `maxmemory-policy \
             noeviction`, or accept it with allow_volatile=on"
        );
        return refuse(ErrorKind::Unavailable, &message);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::parse_info;

    #[test]
    fn r11_2_what_may_lose_jobs_is_refused_with_its_remedy() {
        let good = "redis_version:7.0.15\r\nrole:master\r\naof_enabled:1\r\n\
                    maxmemory_policy:noeviction\r\n";
        assert!(check(&parse_info(good), false).is_ok());
        for (bad, instead, remedy) in [
            ("aof_enabled:1", "aof_enabled:0", "appendonly yes"),
            ("noeviction", "allkeys-lru", "maxmemory-policy noeviction"),
            ("role:master", "role:slave", "its master"),
            ("redis_version:7.0.15", "redis_version:6.0.16", "6.2 and later"),
        ] {
            let error = check(&parse_info(&good.replace(bad, instead)), false).unwrap_err();
            assert!(error.to_string().contains(remedy), "{error}");
        }
        assert!(check(&parse_info(&good.replace("aof_enabled:1", "aof_enabled:0")), true).is_ok());
    }
}
