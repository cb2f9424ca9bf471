//! A process group: a process with all its descendants.

use std::io;
use std::process::ExitStatus;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// A process group. On Unix all descendants of the process belong to it, unless they leave it on
/// purpose. It is killed when this is dropped.
pub(super) struct Group {
    child: Child,
    /// `None` once the group was killed.
    id: Option<Id>,
}

/// The pipes of the process.
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

impl Group {
    /// Starts the command, whose pipes are set.
    pub(super) fn start(mut command: Command) -> io::Result<(Self, Pipes)> {
        #[cfg(unix)]
        // So that a signal reaches the descendants of the command, and not the worker.
        command.process_group(0);
        let mut child = command.kill_on_drop(true).spawn()?;
        let id = child.id().and_then(Id::of);
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let group = Self { child, id };
        let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(io::Error::other("the process has no pipes"));
        };
        Ok((group, Pipes { stdin, stdout, stderr }))
    }

    /// Waits until the process itself has ended; its descendants may continue.
    pub(super) async fn exited(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Asks all processes of the group to end (SIGTERM).
    pub(super) fn ask_to_end(&self) {
        if let Some(id) = &self.id {
            id.ask_to_end();
        }
    }

    /// Kills all processes of the group (SIGKILL).
    pub(super) fn kill(&mut self) {
        // Only once: later the id may be that of another group. That cannot be while a process of
        // the group is left, and ids are not reused immediately after that.
        if let Some(id) = self.id.take() {
            id.kill();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(unix)]
struct Id(rustix::process::Pid);

#[cfg(unix)]
impl Id {
    fn of(leader: u32) -> Option<Self> {
        let leader = i32::try_from(leader).ok()?;
        rustix::process::Pid::from_raw(leader).map(Self)
    }

    fn ask_to_end(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    fn kill(&self) {
        self.signal(rustix::process::Signal::KILL);
    }

    fn signal(&self, signal: rustix::process::Signal) {
        // An error means that no process is left, which is fine.
        let _ = rustix::process::kill_process_group(self.0, signal);
    }
}

/// On other systems only the process itself is killed, when its handle is dropped.
#[cfg(not(unix))]
struct Id;

#[cfg(not(unix))]
impl Id {
    fn of(_: u32) -> Option<Self> {
        None
    }

    fn ask_to_end(&self) {}

    fn kill(&self) {}
}
