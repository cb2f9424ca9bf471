use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::command_line::CommandLine;
use crate::cpu;
use crate::error::{Error, Result};

/// How often a running step is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Runs steps in the root of the workspace and remembers what came of them and how long they took.
///
/// Steps may run in several threads at once. A step that fails ends nothing by itself: the caller
/// stops where what follows makes no sense, and otherwise gathers the failures with [`all`].
#[derive(Debug)]
pub(crate) struct Steps {
    pub(crate) root: PathBuf,
    lines: Mutex<Vec<String>>,
    started: Instant,
    /// Variables that cargo gets beside a command's own.
    env: Vec<(&'static str, &'static str)>,
}

/// The failures of several steps as one: none hides another.
pub(crate) fn all(outcomes: impl IntoIterator<Item = Result<()>>) -> Result<()> {
    let failed: Vec<String> =
        outcomes.into_iter().filter_map(Result::err).map(|error| error.to_string()).collect();
    if failed.is_empty() { Ok(()) } else { Err(Error::failed(failed.join("\n\n"))) }
}

impl Steps {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            lines: Mutex::default(),
            started: Instant::now(),
            env: Vec::new(),
        }
    }

    /// For a tree that is built once: incremental builds pay only if there is a next one.
    pub(crate) fn without_incremental(root: &Path) -> Self {
        let mut steps = Self::new(root);
        steps.env.push(("CARGO_INCREMENTAL", "0"));
        steps
    }

    /// The command, as this run starts it.
    pub(crate) fn command(&self, line: &CommandLine) -> Command {
        let mut command = line.to_command(&self.root);
        command.envs(self.env.iter().copied());
        command
    }

    /// Runs a command with its output going straight to the terminal.
    pub(crate) fn run(&self, name: &str, command: &CommandLine) -> Result<()> {
        self.step(name, command, None)
    }

    /// Like [`Steps::run`], for a command that might never end: after `limit` it is killed.
    pub(crate) fn run_within(
        &self,
        limit: Duration,
        name: &str,
        command: &CommandLine,
    ) -> Result<()> {
        self.step(name, command, Some(limit))
    }

    /// Runs a check that is part of this program; `repeat` is the command that does the same.
    pub(crate) fn check(
        &self,
        name: &str,
        repeat: &CommandLine,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        println!("\n==> {repeat}");
        let started = Instant::now();
        let outcome = check();
        self.note(name, Spent::since(started), outcome.is_ok());
        outcome.map_err(|error| failure(name, &error.to_string(), repeat))
    }

    /// Says loudly, now and in the summary, that something was NOT checked, and what to do.
    pub(crate) fn not_checked(&self, what: &str, why_and_remedy: &str) {
        let line = format!("WARNING: NOT CHECKED: {what}: {why_and_remedy}");
        eprintln!("\n{line}");
        self.lines().push(line);
    }

    /// A line for the summary that is no step.
    pub(crate) fn tell(&self, line: String) {
        self.lines().push(line);
    }

    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step(&self, name: &str, command: &CommandLine, limit: Option<Duration>) -> Result<()> {
        println!("\n==> {command}");
        let started = Instant::now();
        let (ended, spent) = match self.command(command).spawn() {
            Ok(child) => wait_or_kill(child, started, limit),
            Err(error) => (Err(error), Spent::since(started)),
        };
        self.note(name, spent, matches!(ended, Ok(Some(status)) if status.success()));
        match ended {
            Ok(Some(status)) if status.success() => Ok(()),
            Ok(Some(status)) => Err(failure(name, &status.to_string(), command)),
            Ok(None) => Err(failure(name, "did not end in time and was killed", command)),
            Err(error) => Err(failure(name, &format!("could not be run: {error}"), command)),
        }
    }

    pub(crate) fn note(&self, name: &str, spent: Spent, passed: bool) {
        let verdict = if passed { "ok    " } else { "FAILED" };
        self.lines().push(format!("{verdict} {spent}  {name}"));
    }
}

/// What a step took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    time: Duration,
    /// Processor time of its process, and of those that it has waited for.
    cpu: Option<Duration>,
}

impl Spent {
    /// For a step that is no process.
    pub(crate) fn since(started: Instant) -> Self {
        Self { time: started.elapsed(), cpu: None }
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.time.as_secs_f64();
        match self.cpu {
            Some(cpu) => write!(f, "{seconds:8.1} s {:8.1} s of CPU", cpu.as_secs_f64()),
            None => write!(f, "{seconds:8.1} s                  "),
        }
    }
}

/// Printed on the way out, so that a failed run, too, ends with what was done and how long it took.
impl Drop for Steps {
    fn drop(&mut self) {
        println!("\nSummary");
        for line in self.lines().iter() {
            println!("  {line}");
        }
        println!("  total  {:8.1} s", self.started.elapsed().as_secs_f64());
    }
}

pub(crate) fn failure(name: &str, what: &str, repeat: &CommandLine) -> Error {
    Error::failed(format!(
        "{name}: {what}\nto repeat it, in the root of the workspace:\n  {repeat}"
    ))
}

/// Waits for a process that was started then. `None` when it had to be killed.
pub(crate) fn wait_or_kill(
    mut child: Child,
    started: Instant,
    limit: Option<Duration>,
) -> (std::io::Result<Option<ExitStatus>>, Spent) {
    let mut cpu = None;
    let ended = loop {
        // Before the look, because nothing counts for a child that was waited for.
        cpu = cpu::of_child(child.id()).or(cpu);
        match child.try_wait() {
            Ok(None) if limit.is_some_and(|limit| started.elapsed() >= limit) => {
                break child.kill().and_then(|()| child.wait()).map(|_| None);
            }
            Ok(None) => thread::sleep(POLL_INTERVAL),
            ended => break ended,
        }
    };
    (ended, Spent { cpu, ..Spent::since(started) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps() -> Steps {
        Steps::new(Path::new("."))
    }

    #[test]
    fn no_failure_hides_another() {
        let failed = |text| Err(Error::failed(text));
        let error = all([failed("clippy"), Ok(()), failed("tests")]).unwrap_err().to_string();
        assert!(error.contains("clippy") && error.contains("tests"), "{error}");
        assert_eq!(all([Ok(()), Ok(())]), Ok(()));
    }

    #[cfg(unix)]
    #[test]
    fn a_failure_names_the_step_and_the_command_to_repeat() {
        let command = CommandLine::new("false").arg("anyway");
        let error = steps().run("impossible", &command).unwrap_err().to_string();
        assert!(error.contains("impossible: exit"), "{error}");
        assert!(error.ends_with("false anyway"), "{error}");
    }

    #[test]
    fn a_program_that_is_not_there_is_a_failure_not_a_panic() {
        let command = CommandLine::new("no-such-program-anywhere");
        let error = steps().run("missing", &command).unwrap_err().to_string();
        assert!(error.contains("could not be run"), "{error}");
    }

    #[test]
    fn the_summary_tells_passed_from_failed_and_keeps_what_was_not_checked() {
        let steps = steps();
        let tidy = CommandLine::cargo("xtask tidy");
        assert!(steps.check("good", &tidy, || Ok(())).is_ok());
        assert!(steps.check("bad", &tidy, || Err(Error::failed("2 findings"))).is_err());
        steps.not_checked("licences", "cargo-deny is not installed");
        let lines = steps.lines();
        assert!(lines[0].starts_with("ok"));
        assert!(lines[1].starts_with("FAILED"));
        assert!(lines[2].contains("NOT CHECKED: licences"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_summary_has_the_processor_time_of_a_step() {
        let steps = steps();
        let spin = "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done";
        assert!(steps.run("spins", &CommandLine::new("sh").args(["-c", spin])).is_ok());
        let line = steps.lines()[0].clone();
        let spent = line.split_whitespace().nth(3).unwrap();
        assert!(line.contains(" s of CPU  spins") && spent.parse::<f64>().unwrap() > 0.0, "{line}");
    }

    #[cfg(unix)]
    #[test]
    fn a_step_that_hangs_is_killed_at_its_limit() {
        let hangs = CommandLine::new("tail").args(["-f", "/dev/null"]);
        let limit = Duration::from_millis(1);
        let error = steps().run_within(limit, "hangs", &hangs).unwrap_err().to_string();
        assert!(error.contains("did not end in time"), "{error}");
    }
}
