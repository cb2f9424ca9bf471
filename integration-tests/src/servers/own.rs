use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::binaries::Binaries;
use super::daemon::Daemon;
use super::{Result, admin, background, notice};

/// How long a server may take to answer after it was started, on a machine with much else to do.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Another process may take a free port before the server does.
const PORTS_TRIED: usize = 5;

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
    /// What it is started with: as it comes, until said otherwise.
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
    /// If it goes on regardless.
    pub fn stop(&mut self) {
        self.daemon.end(Signal::INT).expect("a server ends when it is told to");
    }

    /// Starts it again, on its port and on what it stored. One that runs is stopped before.
    ///
    /// # Panics
    /// If it does not come back; the text has its log.
    pub async fn restart(&mut self) {
        self.stop();
        self.launch().await.expect("a server comes back");
    }

    async fn launch(&mut self) -> Result<()> {
        let mut args = self.args.clone();
        args.extend(["-p".to_owned(), self.port.to_string()]);
        self.daemon.start(&self.binaries.program("postgres"), &args)?;
        self.version = self.ready().await?;
        Ok(())
    }

    /// Answers come through its socket: what a test says about TCP in `pg_hba.conf` is in no way.
    async fn ready(&mut self) -> Result<String> {
        let begun = Instant::now();
        let socket = self.daemon.home().display().to_string().replace('/', "%2F");
        let url = format!("postgres://postgres@{socket}:{}/postgres", self.port);
        loop {
            if let Some(status) = self.daemon.ended() {
                return Err(format!("Postgres ended ({status}); it said:\n{}", self.log()));
            }
            let url = url.clone();
            let error = match background::run(async move { admin::version(&url).await }).await {
                Ok(version) => return Ok(version),
                Err(error) => error,
            };
            if begun.elapsed() > READY_WITHIN {
                let log = self.log();
                return Err(format!("Postgres does not answer: {error}; it said:\n{log}"));
            }
            background::run(tokio::time::sleep(Duration::from_millis(10))).await;
        }
    }
}

/// What an [`OwnServer`] is started with.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    parameters: Vec<(String, String)>,
    files: Vec<(String, Vec<u8>)>,
    host_rules: Vec<String>,
}

impl Settings {
    /// A parameter of `postgresql.conf`.
    pub fn set(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.parameters.push((name.into(), value.to_string()));
        self
    }

    /// A file in its data directory, which only the server can read: `server.key` for example.
    pub fn file(mut self, name: impl Into<String>, contents: impl Into<Vec<u8>>) -> Self {
        self.files.push((name.into(), contents.into()));
        self
    }

    /// A line of `pg_hba.conf`, before the one that lets everybody in through TCP.
    pub fn host_rule(mut self, line: impl Into<String>) -> Self {
        self.host_rules.push(line.into());
        self
    }

    /// Nothing survives a loss of power, and much is faster.
    pub(super) fn for_sharing(self) -> Self {
        SHARED.iter().fold(self, |settings, (name, value)| settings.set(*name, value))
    }

    /// None if the programs are not on this machine, which is told.
    ///
    /// # Panics
    /// If they are and do not work, or if they are required: `QUEUEKIT_TEST_REQUIRE` has
    /// `postgres-local`.
    pub async fn start(self) -> Option<OwnServer> {
        let Some(binaries) = Binaries::find() else {
            let remedy = "install it, on Debian with `apt-get install postgresql`";
            notice::missing("postgres-local", remedy).unwrap_or_else(|error| panic!("{error}"));
            return None;
        };
        Some(self.start_with(binaries).await.unwrap_or_else(|error| panic!("{error}")))
    }

    pub(super) async fn start_with(self, binaries: Binaries) -> Result<OwnServer> {
        let daemon = Daemon::new("queuekit-postgres-", "QUIT")?;
        let (daemon, binaries) = background::run(async move {
            // Half a second of work, for which no runtime is to be blocked.
            let made = tokio::task::spawn_blocking(move || {
                self.make_cluster(&daemon, &binaries).map(|args| (daemon, binaries, args))
            });
            made.await.expect("it does not panic")
        })
        .await
        .map(|(daemon, binaries, args)| ((daemon, args), binaries))?;
        let (daemon, args) = daemon;
        let mut server = OwnServer { daemon, binaries, args, port: 0, version: String::new() };
        for _ in 1..PORTS_TRIED {
            server.port = free_port()?;
            match server.launch().await {
                Err(error) if error.contains("Address already in use") => {}
                done => return done.map(|()| server),
            }
        }
        server.port = free_port()?;
        server.launch().await.map(|()| server)
    }

    /// The arguments with which the server is to be started in it.
    fn make_cluster(&self, daemon: &Daemon, binaries: &Binaries) -> Result<Vec<String>> {
        let data = daemon.home().join("data");
        let mut initdb = daemon.command(binaries.program("initdb"));
        initdb.arg("-D").arg(&data).args(INITDB);
        let output = initdb.output().map_err(|error| format!("`initdb`: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("`initdb` failed ({}): {said}", output.status));
        }
        for (name, contents) in &self.files {
            daemon.place(&data.join(name), contents)?;
        }
        daemon.place(&data.join("pg_hba.conf"), self.host_rules().as_bytes())?;
        let mut args = vec!["-D".to_owned(), data.display().to_string()];
        let home = daemon.home().display().to_string();
        let ours = [("unix_socket_directories", home.as_str()), ("listen_addresses", "127.0.0.1")];
        let theirs = self.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in ours.into_iter().chain(theirs) {
            args.extend(["-c".to_owned(), format!("{name}={value}")]);
        }
        Ok(args)
    }

    fn host_rules(&self) -> String {
        let theirs = self.host_rules.iter().map(String::as_str);
        let lines = ["local all all trust"].into_iter().chain(theirs);
        let last = ["host all all all trust", "host replication all all trust", ""];
        lines.chain(last).collect::<Vec<_>>().join("\n")
    }
}

/// What makes a shared server quick; it lives no longer than the tests.
pub(super) const SHARED: &[(&str, &str)] = &[
    ("fsync", "off"),
    ("full_page_writes", "off"),
    ("max_connections", "300"),
    ("shared_buffers", "256MB"),
];

const INITDB: &[&str] = &["-A", "trust", "-N", "--locale=C", "-E", "UTF8", "-U", "postgres"];

/// One that nobody uses at this moment.
pub(super) fn free_port() -> Result<u16> {
    let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    port.map(|address| address.port()).map_err(|error| format!("there is no free port: {error}"))
}
