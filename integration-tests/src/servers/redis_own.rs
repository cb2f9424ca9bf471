use std::path::{Path, PathBuf};

use rustix::process::Signal;

use super::daemon::{Answers, Daemon, Launch, free_port};
use super::{Result, binaries, place};
use queuekit_conformance::missing;

/// A Redis server of its own, for a test that does to it what would disturb others.
///
/// It ends, and what it stored goes, with this value or with this process.
#[derive(Debug)]
pub struct OwnRedis {
    daemon: Daemon,
    program: PathBuf,
    args: Vec<String>,
    port: u16,
    tls_port: Option<u16>,
    version: String,
}

/// What an [`OwnRedis`] is started with: an append-only file, synced every second.
#[derive(Clone, Debug, Default)]
pub struct RedisSettings {
    parameters: Vec<(String, String)>,
    files: Vec<(String, Vec<u8>)>,
    encrypts: bool,
    in_memory: bool,
}

impl RedisSettings {
    /// A setting of `redis.conf`.
    pub fn set(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.parameters.push((name.into(), value.to_string()));
        self
    }

    /// A file in its directory, which only the server can read: `server.key` for example.
    pub fn file(mut self, name: impl Into<String>, contents: impl Into<Vec<u8>>) -> Self {
        self.files.push((name.into(), contents.into()));
        self
    }

    /// On another port it takes encrypted connections: with this certificate and its key, and with
    /// the certificate of their authority.
    pub fn encrypted(self, certificate: &str, key: &str, authority: &str) -> Self {
        let settings = self
            .file("server.crt", certificate)
            .file("server.key", key)
            .file("authority.crt", authority)
            .set("tls-cert-file", "server.crt")
            .set("tls-key-file", "server.key")
            .set("tls-ca-cert-file", "authority.crt")
            .set("tls-auth-clients", "no");
        Self { encrypts: true, ..settings }
    }

    /// Nothing survives a loss of power, and much is faster.
    pub(super) fn for_sharing(self) -> Self {
        Self { in_memory: true, ..self }
    }

    /// None if the program is not on this machine; a line on stderr says so.
    ///
    /// # Panics
    /// If it is and does not work, or if it is required: `QUEUEKIT_TEST_REQUIRE` has
    /// `redis-local`.
    pub async fn start(self) -> Option<OwnRedis> {
        let Some(program) = binaries::program("redis-server") else {
            let remedy = "install it, on Debian with `apt-get install redis-server`";
            missing("redis-local", remedy).unwrap_or_else(|error| panic!("{error}"));
            return None;
        };
        Some(self.start_with(&program).await.unwrap_or_else(|error| panic!("{error}")))
    }

    pub(super) async fn start_with(self, program: &Path) -> Result<OwnRedis> {
        let place = if self.in_memory { place::quick() } else { std::env::temp_dir() };
        let mut daemon = Daemon::new("Redis", "TERM", &place)?;
        for (name, contents) in &self.files {
            daemon.place(&daemon.home().join(name), contents)?;
        }
        let mut args = Vec::new();
        let tls_port = self.encrypts.then(free_port).transpose()?;
        if let Some(port) = tls_port {
            args.extend(["--tls-port".to_owned(), port.to_string()]);
        }
        let ours = [
            ("bind", "127.0.0.1"),
            ("appendonly", "yes"),
            ("appendfsync", "everysec"),
            ("save", ""),
            ("maxmemory-policy", "noeviction"),
        ];
        let theirs = self.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in ours.into_iter().chain(theirs) {
            args.extend([format!("--{name}"), value.to_owned()]);
        }
        let how = |daemon: &Daemon, port| Ok(launch(daemon, program, &args, port));
        let (port, version) = daemon.launch_on_free_port(how).await?;
        binaries::is_asked_redis(program, &version)?;
        let program = program.to_owned();
        Ok(OwnRedis { daemon, program, args, port, tls_port, version })
    }
}

impl OwnRedis {
    /// The settings of its start: the defaults, until they are changed.
    pub fn settings() -> RedisSettings {
        RedisSettings::default()
    }

    /// Its host and port.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Its port, the same after each restart.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port for encrypted connections, if it has one.
    pub fn tls_port(&self) -> Option<u16> {
        self.tls_port
    }

    /// The number of its process; none while it does not run.
    pub fn pid(&self) -> Option<u32> {
        self.daemon.pid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs())
    }

    /// What it says it is, `7.0.15` for example.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// What it has logged, since its first start.
    pub fn log(&self) -> String {
        self.daemon.log()
    }

    /// SIGKILL; it is gone when this returns.
    ///
    /// # Panics
    /// If it cannot be killed.
    pub fn kill(&mut self) {
        self.daemon.kill().expect("a server can be killed");
    }

    /// Ends it in good order.
    ///
    /// # Panics
    /// If the server keeps running.
    pub fn stop(&mut self) {
        self.daemon.end(Signal::TERM).expect("a server ends when it is told to");
    }

    /// What its append-only file has so far: everything that it has answered.
    ///
    /// # Panics
    /// If that cannot be read.
    pub fn stored(&self) -> RedisStored {
        let files = append_only_files(self.daemon.home());
        let read = |path: PathBuf| (std::fs::read(&path).expect("a file of the server"), path);
        RedisStored(files.into_iter().map(read).collect())
    }

    /// Starts it again on what it had stored then. What it has answered since is lost, as it is
    /// when the power goes before a sync.
    ///
    /// # Panics
    /// If it does not come back; the text has its log.
    pub async fn fall_back(&mut self, to: &RedisStored) {
        self.kill();
        for path in append_only_files(self.daemon.home()) {
            std::fs::remove_file(path).expect("a file of the server");
        }
        for (contents, path) in &to.0 {
            self.daemon.place(path, contents).expect("a file of the server");
        }
        self.restart().await;
    }

    /// Starts it again, on its port and on what it stored. One that runs is stopped before.
    ///
    /// # Panics
    /// If it does not come back; the text has its log.
    pub async fn restart(&mut self) {
        self.stop();
        let launch = launch(&self.daemon, &self.program, &self.args, self.port);
        self.daemon.launch_again(&launch).await.expect("a server comes back");
    }
}

/// What an [`OwnRedis`] had stored at some time.
#[derive(Debug)]
pub struct RedisStored(Vec<(Vec<u8>, PathBuf)>);

/// Of Redis 7 a directory of files, before that a single one.
fn append_only_files(home: &Path) -> Vec<PathBuf> {
    let in_directory = |directory: &Path| {
        let entries = directory.read_dir().into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect::<Vec<_>>()
    };
    let is_one = |path: &PathBuf| path.ends_with("appendonly.aof");
    let single = in_directory(home).into_iter().filter(is_one);
    single.chain(in_directory(&home.join("appendonlydir"))).collect()
}

fn launch(daemon: &Daemon, program: &Path, args: &[String], port: u16) -> Launch {
    let home = daemon.home().display().to_string();
    let own = ["--port".to_owned(), port.to_string(), "--dir".to_owned(), home];
    Launch {
        program: program.to_owned(),
        args: own.into_iter().chain(args.iter().cloned()).collect(),
        answers: Answers::Redis(format!("127.0.0.1:{port}")),
    }
}
