use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// A server that does not answer by then has gone wrong.
const START_MAX: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Another program may take it before the server does; then the server says so and we fail.
pub(crate) fn free_port() -> Result<u16> {
    let free = || TcpListener::bind("127.0.0.1:0")?.local_addr();
    let address = free().map_err(|error| Error::failed(format!("peers: no port: {error}")))?;
    Ok(address.port())
}

/// Until the server answers; if it does not, the error has its log.
pub(crate) fn wait(
    server: &mut Child,
    log: &Path,
    answers: impl Fn() -> Result<bool>,
) -> Result<()> {
    let deadline = Instant::now() + START_MAX;
    loop {
        let answered = answers()?;
        let ended = server.try_wait().ok().flatten();
        match ended {
            None if answered => return Ok(()),
            None if Instant::now() < deadline => thread::sleep(POLL_INTERVAL),
            _ => {
                let log = fs::read_to_string(log).unwrap_or_default();
                return Err(Error::failed(format!("peers: the server does not start:\n{log}")));
            }
        }
    }
}
