use std::path::Path;

use super::daemon::{Answers, Daemon, Launch};
use super::{OwnRedis, RedisSettings, Result, binaries, resp};
use queuekit_conformance::missing;

/// What the sentinels call the master.
const MASTER: &str = "jobs";
/// How many of them there are, and how many of them have to agree that the master is gone.
const SENTINELS: usize = 3;
const QUORUM: usize = 2;

/// A Redis server with a replica, and sentinels that put the one in the place of the other.
///
/// All of it ends with this value or with this process.
#[derive(Debug)]
pub struct RedisSentinels {
    master: OwnRedis,
    replica: OwnRedis,
    sentinels: Vec<Sentinel>,
}

#[derive(Debug)]
#[expect(dead_code, reason = "its server runs for as long as it is held")]
struct Sentinel {
    daemon: Daemon,
    port: u16,
}

impl RedisSentinels {
    /// Starts servers with these settings. None if the program is not on this machine; a line on
    /// stderr says so.
    ///
    /// # Panics
    /// If it is and does not work, or if it is required: `QUEUEKIT_TEST_REQUIRE` has
    /// `redis-local`.
    pub async fn start(settings: RedisSettings) -> Option<Self> {
        let Some(program) = binaries::program("redis-server") else {
            let remedy = "install it, on Debian with `apt-get install redis-server`";
            missing("redis-local", remedy).unwrap_or_else(|error| panic!("{error}"));
            return None;
        };
        let started = Self::start_with(&program, settings).await;
        Some(started.unwrap_or_else(|error| panic!("{error}")))
    }

    /// The URL of the sentinels and their master.
    pub fn url(&self) -> String {
        let sentinels =
            self.sentinels.iter().map(|sentinel| format!("127.0.0.1:{}", sentinel.port));
        format!("redis-sentinel://{}/{MASTER}", sentinels.collect::<Vec<_>>().join(","))
    }

    /// Has them put the replica in the place of a master that lives.
    ///
    /// # Errors
    /// What the sentinel says.
    pub async fn failover(&self) -> Result<()> {
        let sentinel = format!("127.0.0.1:{}", self.sentinels[0].port);
        resp::ask(&sentinel, &format!("SENTINEL FAILOVER {MASTER}")).await.map(drop)
    }

    /// From now on sentinels take a server for dead only after 30 s of silence. They make an old
    /// master follow once no server was taken for dead for 8 s, and on a busy machine each may be
    /// silent for the second that is enough before.
    ///
    /// # Errors
    /// What a sentinel says.
    pub async fn be_patient(&self) -> Result<()> {
        for sentinel in &self.sentinels {
            let sentinel = format!("127.0.0.1:{}", sentinel.port);
            let set = format!("SENTINEL SET {MASTER} down-after-milliseconds 30000");
            resp::ask(&sentinel, &set).await?;
        }
        Ok(())
    }

    /// The server that was the master first.
    pub fn first(&mut self) -> &mut OwnRedis {
        &mut self.master
    }

    /// The server that was the replica first.
    pub fn second(&mut self) -> &mut OwnRedis {
        &mut self.replica
    }

    /// Both, the first master first.
    pub fn both(&self) -> (&OwnRedis, &OwnRedis) {
        (&self.master, &self.replica)
    }

    async fn start_with(program: &Path, settings: RedisSettings) -> Result<Self> {
        let master = settings.clone().start_with(program).await?;
        let replica = settings.start_with(program).await?;
        let follow = format!("REPLICAOF 127.0.0.1 {}", master.port());
        resp::ask(&replica.address(), &follow).await?;
        resp::until(&replica.address(), "INFO replication", "master_link_status:up").await?;
        let mut sentinels = Vec::new();
        for _ in 0..SENTINELS {
            sentinels.push(Sentinel::start(program, master.port()).await?);
        }
        for sentinel in &sentinels {
            // Who knows neither the replica nor the others can put nothing in the master's place.
            let complete = format!("slaves=1,sentinels={SENTINELS}");
            resp::until(&format!("127.0.0.1:{}", sentinel.port), "INFO sentinel", &complete)
                .await?;
        }
        Ok(Self { master, replica, sentinels })
    }
}

impl Sentinel {
    async fn start(program: &Path, master: u16) -> Result<Self> {
        let mut daemon = Daemon::new("Sentinel", "TERM", &std::env::temp_dir())?;
        let how = |daemon: &Daemon, port: u16| {
            let home = daemon.home();
            let file = home.join("sentinel.conf");
            let settings = format!(
                "bind 127.0.0.1\nport {port}\ndir {home}\n\
                 sentinel monitor {MASTER} 127.0.0.1 {master} {QUORUM}\n\
                 sentinel down-after-milliseconds {MASTER} 1000\n\
                 sentinel failover-timeout {MASTER} 5000\n",
                home = home.display(),
            );
            daemon.place(&file, settings.as_bytes())?;
            Ok(Launch {
                program: program.to_owned(),
                args: vec![file.display().to_string(), "--sentinel".to_owned()],
                answers: Answers::Redis(format!("127.0.0.1:{port}")),
            })
        };
        let (port, _) = daemon.launch_on_free_port(how).await?;
        Ok(Self { daemon, port })
    }
}
