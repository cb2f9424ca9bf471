use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Environment;
use super::programs::Program;
use super::report::Report;
use crate::error::{Error, Result};
use crate::steps::{Spent, Steps, wait_or_kill};

/// A part that takes longer hangs.
const TIME_LIMIT: Duration = Duration::from_secs(30 * 60);
/// How much of a failed part's output is shown; its log has the rest.
const LINES_SHOWN: usize = 200;

/// Some of the tests of a program, run in one process.
#[derive(Debug)]
pub(crate) struct Part<'p> {
    program: &'p Program,
    name: String,
    filters: Vec<String>,
    threads: usize,
}

impl<'p> Part<'p> {
    pub(crate) fn new<'w>(
        program: &'p Program,
        suffix: &str,
        threads: usize,
        filters: impl IntoIterator<Item = &'w str>,
    ) -> Self {
        let name = format!("{}{suffix}", program.name());
        let filters = filters.into_iter().map(str::to_owned).collect();
        Self { program, name, filters, threads }
    }

    pub(crate) fn args(&self) -> Vec<String> {
        let mut args = self.filters.clone();
        // The programs that are no tests of libtest do without.
        if !self.program.target.starts_with("--bench") {
            args.push(format!("--test-threads={}", self.threads));
        }
        args
    }

    /// Runs them. Their output goes to a log, and from there to the terminal if one fails: two
    /// parts at once would mix theirs.
    pub(crate) fn run(&self, steps: &Steps, environment: &Environment) -> (Report, Result<()>) {
        let started = Instant::now();
        let log = environment.logs.join(format!("{}.log", self.name.replace([',', ' '], "-")));
        let (ended, spent) = match self.start(environment, &log) {
            Ok(child) => wait_or_kill(child, started, Some(TIME_LIMIT)),
            Err(error) => (Err(error), Spent::since(started)),
        };
        let ended = match ended {
            Ok(Some(status)) if status.success() => None,
            Ok(Some(status)) => Some(status.to_string()),
            Ok(None) => Some(format!("did not end in {} s and was killed", TIME_LIMIT.as_secs())),
            Err(error) => Some(error.to_string()),
        };
        let mut report = Report::of(&fs::read_to_string(&log).unwrap_or_default());
        let tests = report.passed + report.failed.len();
        let line = format!("{}: {tests} tests", self.name);
        steps.note(&line, spent, ended.is_none());
        println!("{} {spent}  {line}", verdict(&ended));
        let outcome = match &ended {
            None => Ok(()),
            Some(ended) => Err(self.failure(ended, &report, &log)),
        };
        if let Some(ended) = ended.filter(|_| report.failed.is_empty()) {
            report.failed.push(ended);
        }
        // Programs have tests of one name.
        report
            .failed
            .iter_mut()
            .for_each(|test| *test = format!("{}: {test}", self.program.name()));
        (report, outcome)
    }

    fn start(&self, environment: &Environment, log: &Path) -> std::io::Result<Child> {
        let output = File::create(log)?;
        Command::new(&self.program.executable)
            .args(self.args())
            .envs(environment.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.program.directory)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
    }

    fn failure(&self, ended: &str, report: &Report, log: &PathBuf) -> Error {
        let text = fs::read_to_string(log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let from = lines.iter().position(|line| *line == "failures:");
        let from = from.unwrap_or(lines.len().saturating_sub(LINES_SHOWN));
        for line in lines.iter().skip(from).take(LINES_SHOWN) {
            println!("  {line}");
        }
        Error::failed(format!(
            "{}: {ended}; failed: {}\nits output: {}\nto repeat it: cd {} && {} {}",
            self.name,
            report.failed.join(", "),
            log.display(),
            self.program.directory.display(),
            self.program.executable.display(),
            self.args().join(" "),
        ))
    }
}

fn verdict(ended: &Option<String>) -> &'static str {
    if ended.is_none() { "ok    " } else { "FAILED" }
}
