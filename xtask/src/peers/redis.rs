use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use tempfile::TempDir;

use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::peers::start::{free_port, wait};

/// Durability as the store asks for it, named to be seen; no snapshots beside the log.
const SETTINGS: [(&str, &str); 5] = [
    ("--bind", "127.0.0.1"),
    ("--appendonly", "yes"),
    ("--appendfsync", "everysec"),
    ("--maxmemory-policy", "noeviction"),
    ("--save", ""),
];

/// A Redis server of our own, on a free port and in a new directory of `TMPDIR`, which is to be on
/// a disk.
///
/// It is killed, and its directory removed, when it is dropped; a signal from the terminal reaches
/// it as well and stops it.
#[derive(Debug)]
pub(crate) struct Redis {
    process: Child,
    url: String,
    // Last: removed when the process is gone.
    _directory: TempDir,
}

impl Redis {
    pub(crate) fn start() -> Result<Self> {
        let failed = |error: io::Error| Error::failed(format!("peers: redis-server: {error}"));
        let directory = TempDir::with_prefix("queuekit-peers-").map_err(failed)?;
        let log = directory.path().join("log");
        let port = free_port()?;
        let mut serve = server(directory.path(), port).to_command(directory.path());
        serve.stdout(fs::File::create(&log).map_err(failed)?).stderr(Stdio::inherit());
        let process = serve.spawn().map_err(failed)?;
        let url = format!("redis://127.0.0.1:{port}");
        let mut server = Self { process, url, _directory: directory };
        wait(&mut server.process, &log, || Ok(answers(port).unwrap_or(false)))?;
        Ok(server)
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // It may have ended by itself, and what it stored goes all the same.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn server(directory: &Path, port: u16) -> CommandLine {
    let server = CommandLine::new("redis-server").args(["--port", &port.to_string()]);
    let server = server.arg("--dir").arg(directory.to_string_lossy());
    SETTINGS.iter().fold(server, |server, (name, value)| server.args([*name, *value]))
}

fn answers(port: u16) -> io::Result<bool> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.write_all(b"PING\r\n")?;
    let mut answer = [0; 5];
    stream.read_exact(&mut answer)?;
    Ok(&answer == b"+PONG")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_keeps_a_log_and_drops_nothing() {
        let shown = server(Path::new("/data"), 5555).to_string();
        assert!(shown.starts_with("redis-server --port 5555 --dir /data"), "{shown}");
        assert!(shown.contains("--appendonly yes --appendfsync everysec"), "{shown}");
        assert!(shown.contains("--maxmemory-policy noeviction"), "{shown}");
    }
}
