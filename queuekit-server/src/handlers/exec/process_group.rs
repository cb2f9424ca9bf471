//! A process group: a process with all its descendants.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// A process group. On Unix all descendants of the process belong to it, unless they leave it on
/// purpose. It is killed when this is dropped.
pub(super) struct Group {
    child: Child,
    /// `None` once the group was killed.
    id: Option<Id>,
    /// The group between the kill and the end of [`reap`](Self::reap).
    killed: Option<Id>,
}

/// How often killed processes are looked for that have not ended, and the pause between two looks.
const LOOKS: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);

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
        let group = Self { child, id, killed: None };
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
            self.killed = Some(id);
        }
    }

    /// Takes the exit codes of killed processes that have lost their parent, after the process
    /// itself has ended. As process 1 of a container, this program has become their parent, and
    /// otherwise they would stay as zombies.
    pub(super) async fn reap(&mut self) {
        let Some(id) = self.killed.take() else { return };
        for _ in 0..LOOKS {
            match id.reap() {
                Reaped::All => return,
                Reaped::One => {}
                Reaped::NotYet => tokio::time::sleep(PAUSE).await,
            }
        }
    }
}

/// What was found of the children of this program in a group.
enum Reaped {
    One,
    NotYet,
    All,
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

    fn reap(&self) -> Reaped {
        match rustix::process::waitpgid(self.0, rustix::process::WaitOptions::NOHANG) {
            Ok(Some(_)) => Reaped::One,
            Ok(None) => Reaped::NotYet,
            // There are none.
            Err(_) => Reaped::All,
        }
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

    fn reap(&self) -> Reaped {
        Reaped::All
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Stdio;

    use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpgid};

    use super::*;

    /// Guard: in a container, each command that was killed with its children left zombies.
    #[tokio::test]
    async fn s6_no_process_of_a_group_is_left_as_a_zombie() {
        // Orphans become children of this process, as they do of process 1.
        set_child_subreaper(Some(getpid())).unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "sleep 1000 & sleep 1000 & exit 0"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (mut group, _pipes) = Group::start(command).unwrap();
        let leader = Pid::from_raw(group.child.id().unwrap().cast_signed()).unwrap();
        assert!(group.exited().await.unwrap().success());
        assert!(waitpgid(leader, WaitOptions::NOHANG).unwrap().is_none(), "two are left");
        group.kill();
        group.reap().await;
        waitpgid(leader, WaitOptions::NOHANG).expect_err("none is left");
    }
}
