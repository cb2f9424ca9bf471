use super::binaries::Binaries;
use super::daemon::Daemon;
use super::{OwnServer, Result, background, place};
use queuekit_conformance::missing;

/// Settings that make a server fast, for one that lives no longer than the tests.
pub(super) const FOR_SHARING: &[(&str, &str)] = &[
    ("fsync", "off"),
    ("full_page_writes", "off"),
    ("max_connections", "300"),
    ("shared_buffers", "256MB"),
];

const INITDB: &[&str] = &["-A", "trust", "-N", "--locale=C", "-E", "UTF8", "-U", "postgres"];

/// What an [`OwnServer`] is started with.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    parameters: Vec<(String, String)>,
    files: Vec<(String, Vec<u8>)>,
    host_rules: Vec<String>,
    in_memory: bool,
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
        let settings = Self { in_memory: true, ..self };
        FOR_SHARING.iter().fold(settings, |settings, (name, value)| settings.set(*name, value))
    }

    /// None if the programs are not on this machine; a line on stderr says so.
    ///
    /// # Panics
    /// If they are and do not work, or if they are required: `QUEUEKIT_TEST_REQUIRE` has
    /// `postgres-local`.
    pub async fn start(self) -> Option<OwnServer> {
        let Some(binaries) = Binaries::find() else {
            let remedy = "install it, on Debian with `apt-get install postgresql`";
            missing("postgres-local", remedy).unwrap_or_else(|error| panic!("{error}"));
            return None;
        };
        Some(self.start_with(binaries).await.unwrap_or_else(|error| panic!("{error}")))
    }

    pub(super) async fn start_with(self, binaries: Binaries) -> Result<OwnServer> {
        let place = if self.in_memory { place::quick() } else { std::env::temp_dir() };
        let daemon = Daemon::new("Postgres", "QUIT", &place)?;
        // Half a second of work, for which no runtime is to be blocked.
        let made = background::run_blocking(move || {
            let args = self.make_cluster(&daemon, &binaries)?;
            Ok::<_, String>((daemon, binaries, args))
        });
        let (daemon, binaries, args) = made.await?;
        OwnServer::launch(daemon, binaries, args).await
    }

    /// The arguments with which a server starts on it.
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
        let ours = [
            ("unix_socket_directories", home.as_str()),
            ("listen_addresses", "127.0.0.1"),
            // In files of its directory, so that a server that was killed leaves nothing elsewhere.
            ("dynamic_shared_memory_type", "mmap"),
        ];
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
