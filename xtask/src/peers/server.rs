use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use tempfile::TempDir;

use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::peers::output::output;
use crate::peers::postgres::Postgres;
use crate::peers::start::{free_port, wait};

/// Postgres refuses to run as root; by its packages this account is there for it.
const ACCOUNT: &str = "postgres";

/// The settings that differ from the defaults: room for the data, so that evictions and
/// checkpoints are not measured. Durability has its default, and is named to be seen.
const SETTINGS: [&str; 6] = [
    "fsync=on",
    "synchronous_commit=on",
    "shared_buffers=1GB",
    "max_wal_size=4GB",
    "listen_addresses=127.0.0.1",
    // It would be one more directory to find and to have rights on; programs get a URL.
    "unix_socket_directories=",
];

/// A Postgres server of our own, on a free port and in a new directory of `TMPDIR`. That is to be
/// on a disk; the target directory would be, but the account need not have access to it.
///
/// It is stopped, and its directory removed, when it is dropped; a signal from the terminal reaches
/// it as well and stops it.
#[derive(Debug)]
pub(crate) struct Server {
    programs: Postgres,
    process: Child,
    port: u16,
    // Last: removed when the process is gone.
    directory: TempDir,
}

impl Server {
    pub(crate) fn start(programs: &Postgres) -> Result<Self> {
        let failed = |error: std::io::Error| Error::failed(format!("peers: server: {error}"));
        let directory = TempDir::with_prefix("queuekit-peers-").map_err(failed)?;
        if is_root() {
            hand_over(directory.path())?;
        }
        let data = data(directory.path());
        let init = programs.program("initdb").args(["--username=postgres", "--auth=trust"]);
        let init = init.args(["--encoding=UTF8", "--locale=C", "--pgdata", &data]);
        output(directory.path(), &unprivileged(init))?;

        let port = free_port()?;
        let serve = unprivileged(server(programs, &data, port));
        println!("\n==> {serve}");
        let log = fs::File::create(directory.path().join("log")).map_err(failed)?;
        let mut serve = serve.to_command(directory.path());
        let process = serve.stdout(Stdio::null()).stderr(log).spawn().map_err(failed)?;
        let mut server = Self { programs: programs.clone(), process, port, directory };
        server.wait()?;
        Ok(server)
    }

    /// The URL of a database that every server has.
    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    fn wait(&mut self) -> Result<()> {
        let ask = self.programs.statement(&self.url(), "SELECT 1");
        let directory = self.directory.path();
        wait(&mut self.process, &directory.join("log"), || {
            // That it does not answer yet is no news.
            let mut asked = ask.to_command(directory);
            let status = asked.stdout(Stdio::null()).stderr(Stdio::null()).status();
            let status = status.map_err(|error| Error::failed(format!("{ask}: {error}")))?;
            Ok(status.success())
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let stop = self.programs.program("pg_ctl").args(["stop", "--mode=fast", "--silent"]);
        let stop = unprivileged(stop.args(["--pgdata", &data(self.directory.path())]));
        if let Err(error) = output(self.directory.path(), &stop) {
            // If it has not ended by itself, its files are about to be removed all the same.
            eprintln!("WARNING: the server was not stopped but killed: {error}");
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}

fn server(programs: &Postgres, data: &str, port: u16) -> CommandLine {
    let server = programs.program("postgres").args(["-D", data, "-p", &port.to_string()]);
    SETTINGS.iter().fold(server, |server, setting| server.args(["-c", setting]))
}

fn data(directory: &Path) -> String {
    directory.join("data").to_string_lossy().into_owned()
}

fn is_root() -> bool {
    let id = CommandLine::new("id").arg("-u");
    output(Path::new("."), &id).is_ok_and(|id| id.trim() == "0")
}

fn hand_over(directory: &Path) -> Result<()> {
    let chown = CommandLine::new("chown").arg(ACCOUNT).arg(directory.to_string_lossy());
    output(directory, &chown).map(|_| ())
}

/// The same command, by the account for it if we are root. `setpriv` becomes the command, so that
/// the process we wait for is the server; and should we be killed, it is interrupted.
fn unprivileged(command: CommandLine) -> CommandLine {
    if !is_root() {
        return command;
    }
    let (user, group) = (format!("--reuid={ACCOUNT}"), format!("--regid={ACCOUNT}"));
    let setpriv = CommandLine::new("setpriv").args([&user, &group, "--init-groups"]);
    command.behind(setpriv.args(["--pdeathsig=INT", "--"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_durable_and_told_so() {
        let programs = Postgres::find();
        let shown = server(&programs, "/data", 5555).to_string();
        assert!(shown.contains("-D /data -p 5555 -c fsync=on -c synchronous_commit=on"), "{shown}");
    }

    #[test]
    fn a_server_without_programs_is_an_error_with_the_command_to_repeat() {
        let programs = Postgres::in_directory("no/such/directory");
        let error = Server::start(&programs).unwrap_err().to_string();
        assert!(error.contains("to repeat it"), "{error}");
    }
}
