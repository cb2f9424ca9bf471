use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::options::Store;
use crate::error::{Error, Result};
use crate::servers::REQUIRE;

/// How long a mutant's run may take: one that hangs is caught, and holds up no other. The whole
/// conformance of the slowest store takes a minute, and a case gives up after one.
const LIMIT: Duration = Duration::from_secs(240);
/// More than there are processors: many cases wait.
const THREADS: &str = "4";
/// What every case of the suite begins with in a store's test program.
const CONFORMANCE: &str = "conformance::";

/// A store's test program, for its conformance cases.
#[derive(Debug)]
pub(super) struct Program {
    path: PathBuf,
    directory: PathBuf,
    store: Store,
}

/// What a run showed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The cases that failed, up to where the run was stopped.
    pub failed: Vec<String>,
    /// It was stopped because it did not end.
    pub hung: bool,
    /// It ended badly though no case failed.
    pub broke: bool,
    /// The messages of what failed.
    pub output: String,
}

impl Program {
    pub(super) fn new(path: PathBuf, tree: &Path, store: Store) -> Self {
        Self { path, directory: tree.join("integration-tests"), store }
    }

    /// The names of all cases.
    pub(super) fn cases(&self) -> Result<Vec<String>> {
        let output = self.command().args(["--list", CONFORMANCE]).output();
        let output = output.map_err(|error| self.failed(&error))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let cases = text.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(cases.filter(|name| name.starts_with(CONFORMANCE)).map(str::to_owned).collect())
    }

    /// Runs some cases, to the end or up to the first that fails.
    pub(super) fn run(&self, cases: &[&str], to_the_end: bool) -> Result<Outcome> {
        if cases.is_empty() {
            return Ok(Outcome::default());
        }
        let mut command = self.command();
        command.args(["--test-threads", THREADS, "--exact"]).args(cases);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| self.failed(&error))?;
        let lines = lines_of(&mut child);
        let mut outcome = Outcome::default();
        let deadline = Instant::now() + LIMIT;
        loop {
            match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => outcome.take(&line),
                Err(mpsc::RecvTimeoutError::Timeout) => outcome.hung = true,
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            if outcome.hung || (!to_the_end && !outcome.failed.is_empty()) {
                // Its servers have a guard that stops them when it is gone.
                child.kill().map_err(|error| self.failed(&error))?;
                break;
            }
        }
        let status = child.wait().map_err(|error| self.failed(&error))?;
        outcome.broke = !status.success() && outcome.failed.is_empty() && !outcome.hung;
        Ok(outcome)
    }

    /// A case that is skipped because a server is missing would look like one that let a mutant
    /// through.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.directory).env("CARGO_MANIFEST_DIR", &self.directory);
        command.env("RUST_BACKTRACE", "0").stdin(Stdio::null());
        if self.store != Store::Sqlite {
            command.env(REQUIRE, self.store.name());
        }
        command
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        Error::failed(format!("{}: {error}", self.path.display()))
    }
}

impl Outcome {
    /// What went wrong, for a run that should have passed.
    pub(super) fn why(&self) -> String {
        if self.hung {
            return "conformance does not end in time".to_owned();
        }
        let details =
            self.output.split_once("\nfailures:\n").map_or(&*self.output, |(_, rest)| rest);
        format!("conformance fails: {}\n{details}", self.failed.join(", "))
    }

    fn take(&mut self, line: &str) {
        self.failed.extend(failed_case(line).map(str::to_owned));
        self.output.push_str(line);
        self.output.push('\n');
    }
}

/// The case of a line that says `test .. ... FAILED`.
fn failed_case(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

/// The lines of both streams as they come, until both are closed.
fn lines_of(child: &mut Child) -> mpsc::Receiver<String> {
    let (tell, told) = mpsc::channel();
    let streams = [
        child.stdout.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>),
        child.stderr.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>),
    ];
    for stream in streams.into_iter().flatten() {
        let tell = tell.clone();
        thread::spawn(move || {
            let mut lines = BufReader::new(stream).split(b'\n');
            while let Some(Ok(line)) = lines.next() {
                if tell.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
            }
        });
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_case_is_told_by_its_line() {
        let failed = "test conformance::fence::r3_3_stale_ack_changes_nothing ... FAILED";
        let name = "conformance::fence::r3_3_stale_ack_changes_nothing";
        assert_eq!(failed_case(failed), Some(name));
        assert_eq!(failed_case("test conformance::fence::r3_3 ... ok"), None);
        assert_eq!(failed_case("test result: FAILED. 1 passed"), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_ends_badly_without_a_failed_case_broke() {
        let program =
            |path: &str| Program { path: path.into(), directory: ".".into(), store: Store::Sqlite };
        assert!(program("false").run(&["a"], true).unwrap().broke);
        assert_eq!(program("false").run(&[], true), Ok(Outcome::default()));
        assert!(!program("true").run(&["a"], true).unwrap().broke);
    }
}
