//! The handler `exec`, which runs a command of the configuration. The job's kind, `exec.NAME`,
//! names the command, which gets the payload on stdin. A job cannot set the program, its arguments
//! or its environment.

mod capture;
mod command;
mod process_group;
mod run;

use queuekit::jobs::Kind;
use queuekit::workers::RawHandler;
use queuekit::{Bytes, Ctx, JobError, JobResult};

use run::{Ended, Stopped, run};

pub(crate) use command::Command;

/// Exit code of programs that ask to be run later (EX_TEMPFAIL of sysexits.h).
const TEMPORARY: i32 = 75;

/// The handler of one command.
pub(crate) struct Exec {
    pub(crate) kind: Kind,
    pub(crate) command: Command,
}

impl Exec {
    pub(crate) fn kind(&self) -> &str {
        self.kind.as_ref()
    }

    /// The outcome of the job.
    fn judge(&self, ended: Ended, ctx: &Ctx) -> JobResult<Option<Bytes>> {
        // Also of a run that succeeded: what a command warns of is worth reading.
        for line in ended.stderr.lines() {
            ctx.log(line);
        }
        if let Some(cut) = ended.stdout.cut() {
            ctx.log(format!("stdout: {cut}"));
        }
        if let Some(cut) = ended.stderr.cut() {
            ctx.log(format!("stderr: {cut}"));
        }
        // No code: a signal ended the command. That may be the lack of memory of a moment, so the
        // job is retried.
        let Some(code) = ended.status.code() else {
            return Err(self.failed(&format!("was killed by {}", ended.status), &ended).into());
        };
        match code {
            0 => Ok(ended.stdout.into_result()),
            TEMPORARY => Err(self.failed("asked to be run later (exit code 75)", &ended).into()),
            code if self.command.dead_exit_codes.contains(&code) => {
                let how = format!("failed for good (exit code {code})");
                Err(JobError::fatal(self.failed(&how, &ended)))
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
                let hint = "check `program` and `cwd` in queuekit.toml";
                Err(format!("cannot start {}: {error}; {hint}", self.kind()).into())
            }
            Err(Stopped::TooLong) => {
                let most = self.command.timeout;
                Err(format!("{} ran for longer than {most:?} and was killed", self.kind()).into())
            }
            Err(Stopped::Cancelled) => {
                Err(format!("{} was killed, because the run was stopped", self.kind()).into())
            }
        }
    }
}

/// Shows only the kind, because the environment of a command may hold secrets.
impl std::fmt::Debug for Exec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exec").field("kind", &self.kind).finish_non_exhaustive()
    }
}
