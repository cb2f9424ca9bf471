//! One run of a command.

use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use queuekit::{Bytes, Ctx};
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::time::{sleep, timeout};

use super::capture::Captured;
use super::command::Command;
use super::process_group::Group;

/// The exit status of a command, and its output.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
}

/// Why a command did not end by itself.
pub(super) enum Stopped {
    NotStarted(std::io::Error),
    TooLong,
    Cancelled,
}

/// Most bytes of stdout: as many as the result of a job may have.
const STDOUT: usize = 64 * 1024;
/// Most bytes of stderr, which people read.
const STDERR: usize = 16 * 1024;
/// How long a command has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
/// How long to wait for output that a process outside the group holds open.
const LEFT_OPEN: Duration = Duration::from_millis(500);

/// Runs the command to its end. Kills it with all its descendants when its time is up, when the run
/// is stopped, and when this future is dropped.
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
        // Kill its descendants too, which closes its output.
        group.kill();
        group.reap().await;
        if !silent {
            // A process that has left the group may keep the pipes open for ever.
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
        // The environment of the worker has passwords and keys.
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

/// Writes the payload to stdin; the command need not read it.
async fn feed(mut stdin: ChildStdin, payload: &[u8]) {
    // A command that does not read its input closes the pipe, which is no failure.
    let _ = stdin.write_all(payload).await;
}

/// Waits until the command ends, or kills it.
async fn watch(group: &mut Group, most: Duration, ctx: &Ctx) -> Result<ExitStatus, Stopped> {
    let stopped = tokio::select! {
        // A command that has ended is not run again.
        biased;
        status = group.exited() => return status.map_err(Stopped::NotStarted),
        () = sleep(most) => Stopped::TooLong,
        () = ctx.cancelled() => Stopped::Cancelled,
    };
    group.ask_to_end();
    // A command may want to remove its temporary files.
    if timeout(GRACE, group.exited()).await.is_err() {
        group.kill();
        let _ = group.exited().await;
    }
    Err(stopped)
}
