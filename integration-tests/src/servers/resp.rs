//! Questions to a Redis server, without a driver.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Result;

/// How long a server may take to answer before it counts as unreachable.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// How long servers may take to agree on something.
const COMES_WITHIN: Duration = Duration::from_secs(60);

/// The version of the server at this address, once it has loaded what it stored.
pub(super) async fn version(address: &str) -> Result<String> {
    read_version(&ask(address, "INFO").await?)
}

/// What it says to a command whose words hold no spaces, as it is sent; what it refuses is an
/// error.
pub(super) async fn ask(address: &str, command: &str) -> Result<String> {
    let asked = async {
        let mut stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
        let line = format!("{command}\r\n");
        stream.write_all(line.as_bytes()).await.map_err(|error| error.to_string())?;
        let mut said = Vec::new();
        // It does not end: it waits for the next question.
        while !has_all(&said) {
            let read = stream.read_buf(&mut said).await.map_err(|error| error.to_string())?;
            if read == 0 {
                break;
            }
        }
        let said = String::from_utf8_lossy(&said).into_owned();
        if said.starts_with('-') { Err(format!("it said `{}`", said.trim_end())) } else { Ok(said) }
    };
    let answer = tokio::time::timeout(ANSWER_WITHIN, asked).await;
    answer.unwrap_or_else(|_| Err(format!("no answer within {ANSWER_WITHIN:?}")))
}

/// Asks until what it says contains this.
pub(super) async fn until(address: &str, command: &str, says: &str) -> Result<()> {
    let begun = Instant::now();
    while !ask(address, command).await?.contains(says) {
        if begun.elapsed() > COMES_WITHIN {
            return Err(format!("{address} does not come to say `{says}` to {command}"));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// A line, or `$LENGTH` and then that many bytes.
fn has_all(said: &[u8]) -> bool {
    let text = String::from_utf8_lossy(said);
    match text.strip_prefix('$').and_then(|rest| rest.split_once("\r\n")) {
        Some((length, rest)) => length.parse().is_ok_and(|all: usize| rest.len() >= all),
        None => !text.starts_with('$') && text.ends_with("\r\n"),
    }
}

fn read_version(said: &str) -> Result<String> {
    let value = |name: &str| {
        let mut lines = said.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| *key == name).map(|(_, value)| value.trim().to_owned())
    };
    if value("loading").is_some_and(|loading| loading != "0") {
        return Err("it loads what it stored".to_owned());
    }
    let valkey = value("valkey_version").map(|version| format!("{version} (Valkey)"));
    let first = said.lines().next().unwrap_or_default();
    valkey.or_else(|| value("redis_version")).ok_or_else(|| format!("it said `{first}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_once_the_server_has_loaded() {
        let said = |loading| format!("$9\r\nredis_version:7.0.15\r\nloading:{loading}\r\n");
        assert_eq!(read_version(&said(0)), Ok("7.0.15".to_owned()));
        assert!(read_version(&said(1)).is_err());
        assert_eq!(read_version("what?\r\n"), Err("it said `what?`".to_owned()));
    }

    #[test]
    fn an_answer_is_whole_when_all_its_bytes_are_there() {
        assert!(!has_all(b"$9\r\nredis"));
        assert!(has_all(b"$5\r\nredis\r\n"));
        assert!(has_all(b"+OK\r\n"));
        assert!(!has_all(b"+OK"));
        assert!(!has_all(b""));
    }
}
