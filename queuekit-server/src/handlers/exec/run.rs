//! One run of a command.

use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use queuekit::{Bytes, Ctx};
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::time::{sleep, timeout};

use super::Command;
use super::capture::Captured;
use super::group::Group;

/// How a command ended by itself, and what it wrote.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
}

/// Why it did not.
pub(super) enum Stopped {
    NotStarted(std::io::Error),
    TooLong,
    Cancelled,
}

/// As much of stdout as the result of a job may hold.
const STDOUT: usize = 64 * 1024;
/// Of stderr, as much as is read by people.
const STDERR: usize = 16 * 1024;
/// How long a command that was asked to end may take.
const GRACE: Duration = Duration::from_secs(2);
/// How long output is waited for that a process outside of the group holds open.
const LEFT_OPEN: Duration = Duration::from_millis(500);

/// Runs the command to its end, or ends it with all it has started: when its time is up, when the
/// run of its job is over, and when this future is dropped.
pub(super) async fn run(command: &Command, payload: Bytes, ctx: &Ctx) -> Result<Ended, Stopped> {
    let (mut group, pipes) = Group::start(prepared(command, ctx)).map_err(Stopped::NotStarted)?;
    let (mut stdout, mut stderr) = (Captured::first(STDOUT), Captured::last(STDERR));
    let status = {
        let talk = async {
            let (out, err) = (stdout.fill(pipes.stdout), stderr.fill(pipes.stderr));
            tokio::join!(feed(pipes.stdin, &payload), out, err);
        };
        let mut talk = pin!(talk);
        let mut silent = false;
        let status = {
            let mut end = pin!(watch(&mut group, command.timeout, ctx));
            loop {
                tokio::select! {
                    status = &mut end => break status,
                    () = &mut talk, if !silent => silent = true,
                }
            }
        };
        // What it has started ends with it, and lets go of its output.
        group.kill();
        if !silent {
            let _ = timeout(LEFT_OPEN, talk).await;
        }
        status?
    };
    Ok(Ended { status, stdout, stderr })
}

fn prepared(command: &Command, ctx: &Ctx) -> tokio::process::Command {
    let mut prepared = tokio::process::Command::new(&command.program);
    prepared
        .args(&command.args)
        .current_dir(&command.directory)
        .env_clear()
        .envs(command.environment.iter().map(|(name, value)| (name, value)))
        .env("QUEUEKIT_JOB_ID", ctx.id().to_string())
        .env("QUEUEKIT_QUEUE", ctx.queue().as_ref() as &str)
        .env("QUEUEKIT_ATTEMPT", ctx.attempt().to_string())
        .env("QUEUEKIT_LEASE_SEQ", ctx.lease_seq().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    prepared
}

/// A command need not read what it is given.
async fn feed(mut stdin: ChildStdin, payload: &[u8]) {
    let _ = stdin.write_all(payload).await;
}

/// Waits for the command's end, or brings it about.
async fn watch(group: &mut Group, most: Duration, ctx: &Ctx) -> Result<ExitStatus, Stopped> {
    let stopped = tokio::select! {
        // What came to its end is not run again.
        biased;
        status = group.exited() => return status.map_err(Stopped::NotStarted),
        () = sleep(most) => Stopped::TooLong,
        () = ctx.cancelled() => Stopped::Cancelled,
    };
    group.ask_to_end();
    if timeout(GRACE, group.exited()).await.is_err() {
        group.kill();
        let _ = group.exited().await;
    }
    Err(stopped)
}
