use std::fs::{File, Permissions};
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::account::Account;
use super::{Result, admin, background, chromedriver, resp};

/// Waits until the pipe at its standard input closes, which it does when the process that holds the
/// other end is gone, however it went. Then ends the server, whose number is in the file `pid`, and
/// removes the directory. A server that was stopped (SIGSTOP) has to be continued to end. One that
/// was killed, if it is a Postgres, has left a segment of shared memory: the last number in line 7
/// of its own file.
const GUARD: &str = r#"
read -r _
if pid=$(cat "$1/pid"); then
    kill -"$2" "$pid"; kill -CONT "$pid"
    tries=0
    while kill -0 "$pid" && [ $tries -lt 200 ]; do sleep 0.05; tries=$((tries + 1)); done
    [ $tries -lt 200 ] || kill -KILL "$pid"
fi
segment=$(sed -n '7s/.* //p' "$1/data/postmaster.pid") && ipcrm -m "$segment"
rm -rf "$1"
"#;
/// Notes its number where the guard looks for it, then becomes the server: there is no moment at
/// which the server runs and the guard does not know.
const START: &str = r#"echo $$ > pid && exec "$@""#;
/// How long a server may take to end after the signal.
const END_WITHIN: Duration = Duration::from_secs(30);
/// How long one may take to answer after it was started, on a machine with much else to do.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// Another process may take a free port before the server does.
pub(super) const PORTS_TRIED: usize = 5;
/// How often one port is tried that may be another's for a moment.
const PORT_TRIED: usize = 50;
/// What servers say then.
pub(super) const IN_USE: &str = "Address already in use";

/// A server with a directory of its own. Both are gone when this value is dropped, and when this
/// process dies, even by SIGKILL.
#[derive(Debug)]
pub(super) struct Daemon {
    /// What it is, for messages.
    name: &'static str,
    home: PathBuf,
    account: Option<Account>,
    guard: Child,
    server: Option<Child>,
}

/// How a server is started, and who answers then.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) program: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) answers: Answers,
}

/// Whom to ask whether the server runs.
#[derive(Clone, Debug)]
pub(super) enum Answers {
    /// Postgres at this URL: it, or what is behind it.
    Postgres(String),
    /// Redis at this address.
    Redis(String),
    /// A driver of browsers at this address.
    WebDriver(String),
}

impl Answers {
    async fn version(self) -> Result<String> {
        match self {
            Self::Postgres(url) => admin::version(&url).await,
            Self::Redis(address) => resp::version(&address).await,
            Self::WebDriver(address) => chromedriver::status(&address).await,
        }
    }
}

impl Daemon {
    /// The directory, and the guard. `end` is the signal, as `kill` names it, at which the server
    /// ends without further ado, and `place` is where the directory is to be.
    pub(super) fn new(name: &'static str, end: &str, place: &Path) -> Result<Self> {
        let account = Account::for_servers()?;
        let prefix = format!("queuekit-{}-", name.to_lowercase());
        let home = tempfile::Builder::new().prefix(&prefix).tempdir_in(place);
        let failed = |error| format!("no directory for {name} in {}: {error}", place.display());
        let home = home.map_err(failed)?.keep();
        if let Some(account) = account {
            account.owns(&home)?;
        }
        let guard = Command::new("sh")
            .args(["-c", GUARD, "queuekit-guard"])
            .arg(&home)
            .arg(end)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A Ctrl-C at the terminal is not for it: it would die before it has done its work.
            .process_group(0)
            .spawn();
        let guard = guard.map_err(|error| format!("`sh`, to guard a server: {error}"))?;
        Ok(Self { name, home, account, guard, server: None })
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// A file as Postgres wants its keys: owned by the server, and closed to everyone else.
    pub(super) fn place(&self, path: &Path, contents: &[u8]) -> Result<()> {
        let failed = |error| format!("cannot write {}: {error}", path.display());
        std::fs::write(path, contents).map_err(failed)?;
        std::fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
        self.account.map_or(Ok(()), |account| account.owns(path))
    }

    /// What the server has printed.
    pub(super) fn log(&self) -> String {
        let mut text = Vec::new();
        let read = File::open(self.home.join("log")).and_then(|mut log| log.read_to_end(&mut text));
        read.map_or_else(|error| error.to_string(), |_| String::from_utf8_lossy(&text).into_owned())
    }

    /// A command in the directory, by the user that servers run as.
    pub(super) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.home).stdin(Stdio::null()).process_group(0);
        if let Some(account) = self.account {
            account.runs(&mut command);
        }
        command
    }

    /// Returns what the server says its version is, once it answers.
    pub(super) async fn launch(&mut self, launch: &Launch) -> Result<String> {
        self.start(&launch.program, &launch.args)?;
        self.answer(&launch.answers).await
    }

    /// Returns the port as well; `how` says how to launch on one.
    pub(super) async fn launch_on_free_port(
        &mut self,
        how: impl Fn(&Self, u16) -> Result<Launch>,
    ) -> Result<(u16, String)> {
        let mut tries = 0;
        loop {
            tries += 1;
            let port = free_port()?;
            match self.launch(&how(self, port)?).await {
                Err(error) if tries < PORTS_TRIED && error.contains(IN_USE) => {}
                answer => return answer.map(|version| (port, version)),
            }
        }
    }

    /// Starts a server again on its old port, which another program may have for a moment.
    pub(super) async fn launch_again(&mut self, launch: &Launch) -> Result<String> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.launch(launch).await {
                Err(error) if tries < PORT_TRIED && error.contains(IN_USE) => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                answer => return answer,
            }
        }
    }

    /// The number of its process, while it runs.
    pub(super) fn pid(&self) -> Option<Pid> {
        self.server.as_ref().map(Pid::from_child)
    }

    /// How it ended, if it did by itself.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.server.as_mut()?.try_wait().ok().flatten()?;
        // The number may be another's from now on, and the guard is not to kill that one.
        let _ = std::fs::remove_file(self.home.join("pid"));
        self.server = None;
        Some(status)
    }

    /// Sends this signal and waits for the end.
    pub(super) fn end(&mut self, signal: Signal) -> Result<()> {
        let Some(pid) = self.pid() else { return Ok(()) };
        // It may have ended already.
        let _ = kill_process(pid, signal);
        if within(END_WITHIN, || self.ended().is_some()) {
            return Ok(());
        }
        Err(format!("process {pid:?} goes on, {END_WITHIN:?} after {signal:?}"))
    }

    /// SIGKILL to it and to every process it has started, all at once as a power cut would.
    pub(super) fn kill(&mut self) -> Result<()> {
        let Some(pid) = self.pid() else { return Ok(()) };
        // So that it starts no more of them while they are counted.
        let _ = kill_process(pid, Signal::STOP);
        let children = children(pid)?;
        for process in children.iter().copied().chain([pid]) {
            // It may have ended by itself.
            let _ = kill_process(process, Signal::KILL);
        }
        self.end(Signal::KILL)?;
        // While one lives, Postgres refuses to start on the same directory.
        within(END_WITHIN, || !any_lives(&children));
        Ok(())
    }

    fn start(&mut self, program: &Path, args: &[String]) -> Result<()> {
        let io =
            |what: &str, error| format!("{} cannot be started: {what}: {error}", program.display());
        let log = File::options().create(true).append(true).open(self.home.join("log"));
        let log = log.map_err(|error| io("its log", error))?;
        let errors = log.try_clone().map_err(|error| io("its log", error))?;
        let mut command = self.command("sh");
        command.args(["-c", START, "queuekit-start"]).arg(program).args(args);
        let started = command.stdout(log).stderr(errors).spawn();
        self.server = Some(started.map_err(|error| io("`sh`", error))?);
        Ok(())
    }

    async fn answer(&mut self, answers: &Answers) -> Result<String> {
        let begun = Instant::now();
        let said = |daemon: &Self| format!("it said:\n{}", daemon.log());
        loop {
            if let Some(status) = self.ended() {
                return Err(format!("{} ended ({status}); {}", self.name, said(self)));
            }
            let error = match background::run(answers.clone().version()).await {
                Ok(version) => return Ok(version),
                Err(error) => error,
            };
            if begun.elapsed() > ANSWER_WITHIN {
                return Err(format!("{} does not answer: {error}; {}", self.name, said(self)));
            }
            background::run(tokio::time::sleep(Duration::from_millis(10))).await;
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // The guard does what it does when this process dies, so that there is one way to end.
        drop(self.guard.stdin.take());
        if let Some(mut server) = self.server.take() {
            let _ = server.wait();
        }
        let _ = self.guard.wait();
    }
}

/// One that nobody uses at this moment.
pub(super) fn free_port() -> Result<u16> {
    let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    port.map(|address| address.port()).map_err(|error| format!("there is no free port: {error}"))
}

/// The processes that this one has started. Those of Postgres are groups of their own each, so
/// that the group of the first is only the first.
fn children(parent: Pid) -> Result<Vec<Pid>> {
    let output = Command::new("ps").args(["-A", "-o", "ppid=", "-o", "pid="]).output();
    let output = output.map_err(|error| format!("`ps`, to find what to kill: {error}"))?;
    let parent = parent.as_raw_nonzero().get();
    let text = String::from_utf8_lossy(&output.stdout);
    let pairs = text.lines().filter_map(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<i32>);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    });
    Ok(pairs.filter(|(of, _)| *of == parent).filter_map(|(_, pid)| Pid::from_raw(pid)).collect())
}

/// A zombie, whose parent has not waited for it yet, does not count as alive.
fn any_lives(processes: &[Pid]) -> bool {
    let numbers = processes.iter().map(|pid| pid.as_raw_nonzero().to_string());
    let numbers = numbers.collect::<Vec<_>>().join(",");
    let output = Command::new("ps").args(["-o", "stat=", "-p", &numbers]).output();
    let states = output.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&states).lines().any(|state| !state.trim_start().starts_with('Z'))
}

/// Polls until it is so: nothing reports what other processes do.
fn within(limit: Duration, mut look: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    loop {
        if look() {
            return true;
        }
        if begun.elapsed() >= limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
