//! Processes that may be killed at any time, and a directory that outlives none of them.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::{Event, Journal, Role};

/// The variable with the role of a process.
const ROLE: &str = "QUEUEKIT_CRASH_ROLE";
const SIGKILL: i32 = 9;
/// How long a process may take to end after it was asked to: it drains a worker first.
const END_WITHIN: Duration = Duration::from_secs(60);

/// A process that plays a role. It dies with this value; and if the process that holds this value
/// is killed itself, it ends because its standard input is closed.
#[derive(Debug)]
pub struct Process {
    child: Child,
    role: Role,
}

impl Process {
    /// Starts this very program again, to run the one test of that name, which has to begin with
    /// [`Role::of_this_process`].
    pub fn start(test: &str, role: &Role, env: &[(&str, OsString)]) -> Self {
        let program = std::env::current_exe().expect("the path of this program should be known");
        let child = Command::new(program)
            .args([test, "--exact", "--nocapture"])
            .env(ROLE, serde_json::to_string(role).expect("a role is JSON"))
            .envs(env.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("this program should start as a child process");
        Self { child, role: role.clone() }
    }

    /// What it does.
    pub fn role(&self) -> &Role {
        &self.role
    }

    /// Its number, by which the journal knows it.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be waited for")
    }

    /// SIGKILL, if it did not kill itself; it is gone when this returns, and the journal has it.
    ///
    /// # Panics
    /// If it had ended otherwise, which no role does.
    pub fn kill(mut self, journal: &Journal) {
        let ended = self.ended();
        let by_itself = ended.filter(|status| status.signal() != Some(SIGKILL));
        assert_eq!(by_itself, None, "{}: ended before it was killed", self.role.name);
        let _ = self.child.kill();
        self.child.wait().expect("a child can be waited for");
        journal.tell_of(self.pid(), [Event::Killed]);
    }

    /// SIGSTOP: it is stopped when this returns, and the journal has it.
    pub fn stop(&self, journal: &Journal) {
        self.signal("-STOP");
        until("it stands still", END_WITHIN, || self.is_stopped().then_some(()));
        journal.tell_of(self.pid(), [Event::Stopped]);
    }

    /// SIGCONT: it continues as if nothing had happened.
    pub fn go_on(&self, journal: &Journal) {
        journal.tell_of(self.pid(), [Event::Continued]);
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.pid().to_string()]).status();
        assert!(sent.expect("`kill` runs").success(), "{signal} to {}", self.role.name);
    }

    fn is_stopped(&self) -> bool {
        let pid = self.pid().to_string();
        let asked = Command::new("ps").args(["-o", "stat=", "-p", &pid]).output();
        let state = asked.expect("`ps` runs").stdout;
        state.first() == Some(&b'T')
    }

    /// Tells it to end, and waits for that.
    pub fn finish(mut self) -> ExitStatus {
        drop(self.child.stdin.take());
        let what = format!("{} ends", self.role.name);
        until(&what, END_WITHIN, || self.ended())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Role {
    /// The role of this process, if it was started to play one.
    pub fn of_this_process() -> Option<Self> {
        let role = std::env::var(ROLE).ok()?;
        Some(serde_json::from_str(&role).expect("the role is JSON"))
    }
}

/// Polls until there is an answer: nothing reports what other processes do.
///
/// # Panics
/// If there is none in time.
pub fn until<T>(what: &str, within: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = look() {
            return answer;
        }
        assert!(begun.elapsed() < within, "in {within:?} it did not come to that: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A directory of its own, removed when this value is dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes one; its path has no links in it.
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("queuekit-crash-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary directory");
        Self(path.canonicalize().expect("it has a path"))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to the system, which clears its temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
