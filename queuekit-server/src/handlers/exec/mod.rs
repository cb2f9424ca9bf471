//! Runs a command of the configuration: a job names it by its type, `exec.NAME`, and gives it its
//! payload on stdin. Nothing of a job becomes a program, an argument or a variable that the
//! configuration has not stated.

mod capture;
mod group;
mod run;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use queuekit::{Bytes, Ctx, JobError, JobResult, Kind, RawHandler};

use run::{Ended, Stopped, run};

/// The exit code by which programs say that another time may do (EX_TEMPFAIL of sysexits.h).
const TEMPORARY: i32 = 75;

/// The handler of one command.
pub(crate) struct Exec {
    pub(crate) kind: Kind,
    pub(crate) command: Command,
}

/// What is run, word for word as it was configured.
pub(crate) struct Command {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// All that it sees of the environment, beside what tells it of its job.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) directory: PathBuf,
    pub(crate) timeout: Duration,
    /// Exit codes that bury a job at once.
    pub(crate) dead_exit_codes: BTreeSet<i32>,
}

impl Exec {
    pub(crate) fn kind(&self) -> &str {
        self.kind.as_ref()
    }

    /// What becomes of the job.
    fn judge(&self, ended: Ended, ctx: &Ctx) -> JobResult<Option<Bytes>> {
        for line in ended.stderr.lines() {
            ctx.log(line);
        }
        if let Some(cut) = ended.stdout.cut() {
            ctx.log(format!("stdout: {cut}"));
        }
        if let Some(cut) = ended.stderr.cut() {
            ctx.log(format!("stderr: {cut}"));
        }
        let Some(code) = ended.status.code() else {
            return Err(self.failed(&format!("was ended by {}", ended.status), &ended).into());
        };
        match code {
            0 => Ok(ended.stdout.into_result()),
            TEMPORARY => Err(self.failed("asked to be run later (exit code 75)", &ended).into()),
            code if self.command.dead_exit_codes.contains(&code) => {
                Err(JobError::fatal(self.failed(&format!("gave up (exit code {code})"), &ended)))
            }
            code => Err(self.failed(&format!("failed (exit code {code})"), &ended).into()),
        }
    }

    fn failed(&self, how: &str, ended: &Ended) -> String {
        match ended.stderr.last_line() {
            Some(line) => format!("{} {how}: {line}", self.kind()),
            None => format!("{} {how}", self.kind()),
        }
    }
}

impl RawHandler for Exec {
    async fn call(&self, payload: Bytes, ctx: Ctx) -> JobResult<Option<Bytes>> {
        match run(&self.command, payload, &ctx).await {
            Ok(ended) => self.judge(ended, &ctx),
            Err(Stopped::NotStarted(error)) => {
                let hint = "see `program` and `cwd` of its table in queuekit.toml";
                Err(format!("{} cannot be started: {error}; {hint}", self.kind()).into())
            }
            Err(Stopped::TooLong) => {
                let most = self.command.timeout;
                Err(format!("{} ran for longer than {most:?} and was ended", self.kind()).into())
            }
            Err(Stopped::Cancelled) => {
                Err(format!("{} was ended, because its run was", self.kind()).into())
            }
        }
    }
}

/// The environment of a command may hold secrets.
impl std::fmt::Debug for Exec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exec").field("kind", &self.kind).finish_non_exhaustive()
    }
}
