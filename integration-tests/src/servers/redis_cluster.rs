use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::daemon::{IN_USE, PORTS_TRIED, free_port};
use super::redis::unique_prefix;
use super::{OwnRedis, RedisSettings, Result, background, binaries, resp};
use queuekit_conformance::missing;

/// How many slots there are.
const SLOTS: usize = 16_384;
/// After this long without an answer a node counts as gone.
const GONE_AFTER_MS: u32 = 1000;

/// The Redis Cluster that the tests of this process share: three masters.
///
/// None if the program is not on this machine; a line on stderr says so.
///
/// # Panics
/// If it is and does not work, or if it is required: `QUEUEKIT_TEST_REQUIRE` has `redis-local`.
pub fn redis_cluster() -> Option<&'static RedisCluster> {
    static CLUSTER: OnceLock<Result<Option<RedisCluster>>> = OnceLock::new();
    let start = async {
        let Some(program) = program()? else { return Ok(None) };
        let settings = RedisSettings::default().for_sharing();
        RedisCluster::start_with(&program, &settings, 3, 0).await.map(Some)
    };
    let found = CLUSTER.get_or_init(|| background::block_on(start));
    found.as_ref().unwrap_or_else(|error| panic!("{error}")).as_ref()
}

/// A Redis Cluster of servers of its own.
///
/// It ends, and what it stored goes, with this value or with this process.
#[derive(Debug)]
pub struct RedisCluster {
    masters: Vec<OwnRedis>,
    replicas: Vec<OwnRedis>,
}

impl RedisCluster {
    /// Starts this number of masters with these settings, and this number of replicas of the first
    /// of them. None if the program is not on this machine; a line on stderr says so.
    ///
    /// # Panics
    /// As [`redis_cluster`].
    pub async fn start(settings: RedisSettings, masters: usize, replicas: usize) -> Option<Self> {
        let started = async {
            let Some(program) = program()? else { return Ok(None) };
            Self::start_with(&program, &settings, masters, replicas).await.map(Some)
        };
        let started: Result<_> = started.await;
        started.unwrap_or_else(|error| panic!("{error}"))
    }

    /// The URL of all of its nodes.
    pub fn url(&self) -> String {
        let nodes: Vec<String> = self.nodes().map(OwnRedis::address).collect();
        format!("redis-cluster://{}", nodes.join(","))
    }

    /// A prefix for keys that nobody else uses.
    pub fn prefix(&self) -> String {
        unique_prefix()
    }

    /// Its servers, the masters first.
    pub fn nodes(&self) -> impl Iterator<Item = &OwnRedis> {
        self.masters.iter().chain(&self.replicas)
    }

    /// One that was started as a master.
    pub fn master(&mut self, number: usize) -> &mut OwnRedis {
        &mut self.masters[number]
    }

    /// Waits until all nodes that run agree that all slots are served.
    ///
    /// # Panics
    /// If they do not.
    pub async fn until_served(&self) {
        let running = self.nodes().filter(|node| node.pid().is_some());
        agreed(running, self.nodes().count()).await.unwrap_or_else(|error| panic!("{error}"));
    }

    async fn start_with(
        program: &Path,
        settings: &RedisSettings,
        masters: usize,
        replicas: usize,
    ) -> Result<Self> {
        let mut nodes = Vec::new();
        for _ in 0..masters + replicas {
            nodes.push(start_node(program, settings).await?);
        }
        let first = &nodes[0].0;
        for (at, (node, _)) in nodes.iter().enumerate() {
            say(node, &format!("CLUSTER SET-CONFIG-EPOCH {}", at + 1)).await?;
            if at < masters {
                let (from, to) = (SLOTS * at / masters, SLOTS * (at + 1) / masters - 1);
                say(node, &format!("CLUSTER ADDSLOTSRANGE {from} {to}")).await?;
            }
        }
        for (node, bus) in &nodes[1..] {
            say(first, &format!("CLUSTER MEET 127.0.0.1 {} {bus}", node.port())).await?;
        }
        let all: Vec<&OwnRedis> = nodes.iter().map(|(node, _)| node).collect();
        agreed(all, nodes.len()).await?;
        let master = say(first, "CLUSTER MYID").await?;
        let master = master.lines().nth(1).unwrap_or_default();
        for (node, _) in &nodes[masters..] {
            say(node, &format!("CLUSTER REPLICATE {master}")).await?;
            resp::until(&node.address(), "INFO replication", "master_link_status:up").await?;
        }
        let mut nodes = nodes.into_iter().map(|(node, _)| node);
        let masters = nodes.by_ref().take(masters).collect();
        Ok(Self { masters, replicas: nodes.collect() })
    }
}

fn program() -> Result<Option<PathBuf>> {
    let found = binaries::program("redis-server");
    if found.is_none() {
        let remedy = "install it, on Debian with `apt-get install redis-server`";
        missing("redis-local", remedy)?;
    }
    Ok(found)
}

/// A node that knows no others, and where others talk to it.
async fn start_node(program: &Path, settings: &RedisSettings) -> Result<(OwnRedis, u16)> {
    let settings =
        settings.clone().set("cluster-enabled", "yes").set("cluster-node-timeout", GONE_AFTER_MS);
    let mut tried = 0;
    loop {
        // By default it is the port plus 10,000, which may be no port at all.
        let bus = free_port()?;
        tried += 1;
        match settings.clone().set("cluster-port", bus).start_with(program).await {
            // Another process may take the port before the server does.
            Err(error) if tried < PORTS_TRIED && error.contains(IN_USE) => {}
            started => return Ok((started?, bus)),
        }
    }
}

async fn say(node: &OwnRedis, command: &str) -> Result<String> {
    let said = resp::ask(&node.address(), command).await;
    said.map_err(|error| format!("{command} to {}: {error}", node.address()))
}

/// Fails unless each of these nodes knows `count` nodes, itself among them, and that all slots are
/// served.
async fn agreed(nodes: impl IntoIterator<Item = &OwnRedis>, count: usize) -> Result<()> {
    for node in nodes {
        let knows_all = format!("cluster_known_nodes:{count}");
        for says in [knows_all.as_str(), "cluster_state:ok"] {
            resp::until(&node.address(), "CLUSTER INFO", says).await?;
        }
    }
    Ok(())
}
