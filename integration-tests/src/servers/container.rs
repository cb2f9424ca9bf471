use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use super::Result;

/// Removes the container when its standard input ends, which is when the process that holds the
/// other side is gone: nothing else outlives a process that was killed.
const GUARD: &str = r#"read -r _; docker rm --force --volumes "$1""#;

/// A server in a container, which is removed when this process ends, however it ends.
#[derive(Debug)]
pub(super) struct Container {
    pub(super) image: String,
    /// Where its port is on this machine: `127.0.0.1:PORT`.
    pub(super) address: String,
    _guard: Child,
}

impl Container {
    /// Whether Docker answers.
    pub(super) fn docker_answers() -> bool {
        docker(&["version"]).is_ok()
    }

    /// Starts the image with these options of `docker run`, and these arguments of its own.
    pub(super) fn start(image: &str, port: u16, options: &[&str], args: &[&str]) -> Result<Self> {
        let publish = format!("127.0.0.1::{port}");
        let run = ["run", "--detach", "--publish", &publish];
        let id = docker(&[&run, options, &[image], args].concat()).map_err(|error| {
            format!(
                "Docker does not start {image}: {error}; `docker pull {image}` may say more, \
                 QUEUEKIT_TEST_POSTGRES_IMAGE and QUEUEKIT_TEST_REDIS_IMAGE name other images, and \
                 QUEUEKIT_TEST_SERVERS=url,local leaves Docker alone"
            )
        })?;
        let guard = guard(&id).map_err(|error| format!("`sh`, to guard a container: {error}"))?;
        let address = docker(&["port", &id, &format!("{port}/tcp")])
            .map_err(|error| format!("a container of {image}: {error}"))?;
        Ok(Self { image: image.to_owned(), address, _guard: guard })
    }
}

/// What the command prints, without the line's end.
fn docker(args: &[&str]) -> Result<String> {
    let output = Command::new("docker").args(args).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("`docker`: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

fn guard(id: &str) -> io::Result<Child> {
    let mut guard = Command::new("sh");
    // In a group of its own: a signal to ours must not end it before its work.
    guard.args(["-c", GUARD, "queuekit-guard", id]).process_group(0);
    guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    guard.spawn()
}
