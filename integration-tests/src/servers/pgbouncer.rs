use std::path::Path;

use super::daemon::{Answers, Daemon, Launch};
use super::{Result, address, binaries};
use queuekit_conformance::missing;

/// A pgbouncer in front of a server, with one server connection per transaction and none per
/// session. It is strict: a parameter at the start of a connection that it does not know is an
/// error, as it is where nobody has set `ignore_startup_parameters`.
#[derive(Debug)]
pub struct PgBouncer {
    daemon: Daemon,
    port: u16,
}

impl PgBouncer {
    /// Starts one in front of all databases of the server of this URL, whose user it uses for all
    /// connections.
    ///
    /// None if pgbouncer is not on this machine; a line on stderr says so.
    ///
    /// # Panics
    /// If it is and does not work, or if it is required: `QUEUEKIT_TEST_REQUIRE` has `pgbouncer`.
    pub async fn start(url: &str) -> Option<Self> {
        let Some(program) = binaries::program("pgbouncer") else {
            let remedy = "install it, on Debian with `apt-get install pgbouncer`";
            missing("pgbouncer", remedy).unwrap_or_else(|error| panic!("{error}"));
            return None;
        };
        let started = Self::launch(&program, url).await;
        Some(started.unwrap_or_else(|error| panic!("{error}")))
    }

    /// The URL of a database, by way of it.
    pub fn url(&self, database: &str) -> String {
        url(self.port, database)
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        self.daemon.log()
    }

    async fn launch(program: &Path, server: &str) -> Result<Self> {
        let mut daemon = Daemon::new("pgbouncer", "TERM", &std::env::temp_dir())?;
        let how = |daemon: &Daemon, port| {
            let path = daemon.home().join("pgbouncer.ini");
            daemon.place(&path, configuration(server, port).as_bytes())?;
            let args = vec![path.display().to_string()];
            let answers = Answers::Postgres(url(port, address::database(server)));
            Ok(Launch { program: program.to_owned(), args, answers })
        };
        let (port, _) = daemon.launch_on_free_port(how).await?;
        Ok(Self { daemon, port })
    }
}

fn url(port: u16, database: &str) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/{database}")
}

fn configuration(url: &str, port: u16) -> String {
    let address = address::host_and_port(url);
    let (host, server_port) = address.rsplit_once(':').unwrap_or((&address, "5432"));
    let (user, password) = address::user_and_password(url);
    let password = password.map_or_else(String::new, |password| format!(" password={password}"));
    format!(
        "[databases]\n\
         * = host={host} port={server_port} user={user}{password}\n\
         [pgbouncer]\n\
         listen_addr = 127.0.0.1\n\
         listen_port = {port}\n\
         unix_socket_dir =\n\
         auth_type = any\n\
         pool_mode = transaction\n\
         max_client_conn = 500\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_logs_in_as_the_user_of_the_url() {
        let text = configuration("postgres://me:secret@db.example:5433/postgres", 6432);
        assert!(text.contains("* = host=db.example port=5433 user=me password=secret\n"), "{text}");
        assert!(text.contains("listen_port = 6432\n"), "{text}");
    }
}
