use std::path::Path;

use rustix::process::Signal;

use super::binaries::Binaries;
use super::daemon::{Answers, Daemon, Launch};
use super::{Result, Settings};

/// A Postgres server of its own, for a test that does to it what would disturb others.
///
/// It ends, and what it stored goes, with this value or with this process.
///
/// ```no_run
/// # use queuekit_integration_tests::servers::OwnServer;
/// # async fn test() {
/// let settings = OwnServer::settings().set("fsync", "on");
/// let Some(mut server) = settings.start().await else { return };
/// server.kill();
/// server.restart().await;
/// # }
/// ```
#[derive(Debug)]
pub struct OwnServer {
    daemon: Daemon,
    binaries: Binaries,
    args: Vec<String>,
    port: u16,
    version: String,
}

impl OwnServer {
    /// The settings of its start: the defaults, until they are changed.
    pub fn settings() -> Settings {
        Settings::default()
    }

    /// The URL of its administrator, who needs no password.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// The number of its first process; none while it does not run.
    pub fn pid(&self) -> Option<u32> {
        self.daemon.pid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs())
    }

    /// Its port, the same after each restart.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What it says it is, `15.20` for example.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Where its programs are, those for clients included.
    pub fn programs(&self) -> &Path {
        &self.binaries.directory
    }

    /// What it has logged, since its first start.
    pub fn log(&self) -> String {
        self.daemon.log()
    }

    /// SIGKILL to all of its processes, which are gone when this returns.
    ///
    /// # Panics
    /// If they cannot be found or killed.
    pub fn kill(&mut self) {
        self.daemon.kill().expect("a server can be killed");
    }

    /// Ends it in good order: connections are closed, transactions are undone.
    ///
    /// # Panics
    /// If the server keeps running.
    pub fn stop(&mut self) {
        self.daemon.end(Signal::INT).expect("a server ends when it is told to");
    }

    /// Starts it again, on its port and on what it stored. One that runs is stopped before.
    ///
    /// # Panics
    /// If it does not come back; the text has its log.
    pub async fn restart(&mut self) {
        self.stop();
        let launch = launch(&self.daemon, &self.binaries, &self.args, self.port);
        self.daemon.launch_again(&launch).await.expect("a server comes back");
    }

    /// On a directory that has a database cluster, and with these arguments.
    pub(super) async fn launch(
        mut daemon: Daemon,
        binaries: Binaries,
        args: Vec<String>,
    ) -> Result<Self> {
        let how = |daemon: &Daemon, port| Ok(launch(daemon, &binaries, &args, port));
        let (port, version) = daemon.launch_on_free_port(how).await?;
        Ok(Self { daemon, binaries, args, port, version })
    }
}

fn launch(daemon: &Daemon, binaries: &Binaries, args: &[String], port: u16) -> Launch {
    let with_port = args.iter().cloned().chain(["-p".to_owned(), port.to_string()]);
    // By way of its socket: what a test says in `pg_hba.conf` about TCP is not in the way.
    let socket = daemon.home().display().to_string().replace('/', "%2F");
    Launch {
        program: binaries.program("postgres"),
        args: with_port.collect(),
        answers: Answers::Postgres(format!("postgres://postgres@{socket}:{port}/postgres")),
    }
}
