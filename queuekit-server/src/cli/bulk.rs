//! One action on all jobs that match a filter: counts them first, then changes them in steps.

use std::fmt;
use std::io::{IsTerminal, Write};

use anyhow::Result;
use axum::http::Method;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use queuekit::jobs::{BulkAction, BulkActionName};
use serde::Serialize;

use super::api::Api;
use super::output::Output;
use crate::error::Usage;
use crate::wire::{BulkBody, BulkReportBody, FilterBody};

/// Jobs that one step examines.
const STEP: usize = 1000;

/// Flags of commands that change many jobs.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct BulkFlags {
    /// Count the jobs that match, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation before many jobs are changed
    #[arg(long, short)]
    yes: bool,
}

/// One action on the jobs of a filter.
#[derive(Clone, Debug)]
pub(crate) struct Bulk {
    pub(crate) action: BulkAction,
    pub(crate) filter: FilterBody,
}

/// What all steps did.
#[derive(Default, Serialize)]
pub(crate) struct Total {
    dry_run: bool,
    pub(crate) matched: u64,
    pub(crate) changed: u64,
    skipped: u64,
}

/// A step failed after others had changed jobs: the error alone would look as if nothing had been
/// done.
#[derive(Debug)]
struct Interrupted {
    changed: u64,
    action: BulkActionName,
    why: String,
}

impl BulkFlags {
    /// # Errors
    /// A usage error with this reason, if `--dry-run` was given.
    pub(crate) fn refuse_dry_run(self, why: &str) -> Result<()> {
        if self.dry_run { Err(Usage::error(why)) } else { Ok(()) }
    }
}

impl Bulk {
    /// Counts the jobs, asks for confirmation, and changes them.
    pub(crate) async fn run(mut self, api: &Api, flags: BulkFlags, output: Output) -> Result<()> {
        let name = self.action.name();
        let (verb, done) = (name.as_str(), done(name));
        self.keep_possible()?;
        let counting = spinner("counting");
        let counted = self.steps(api, true, |matched| counting.set_position(matched)).await;
        counting.finish_and_clear();
        let counted = counted?;
        let jobs = jobs(counted.matched);
        if flags.dry_run {
            let text = format!("{jobs} would be {done}; nothing was changed");
            return output.answer(&counted, text);
        }
        if counted.matched > 0 && !flags.yes {
            confirm(&format!("{verb} {jobs}?"), "with --dry-run")?;
        }
        let bar = progress(counted.matched, verb);
        let total = self.steps(api, false, |matched| bar.set_position(matched)).await;
        bar.finish_and_clear();
        let total = total?;
        output.answer(&total, total.told(name))
    }

    /// Leaves out jobs that the action would skip, so that they are not in the count that people
    /// confirm.
    ///
    /// # Errors
    /// A usage error if the filter names no status in which the action is possible.
    pub(crate) fn keep_possible(&mut self) -> Result<()> {
        self.filter.keep_statuses(self.action.name().possible())
    }

    /// How many jobs match.
    pub(crate) async fn count(&self, api: &Api) -> Result<u64> {
        let counting = spinner("counting");
        let counted = self.steps(api, true, |matched| counting.set_position(matched)).await;
        counting.finish_and_clear();
        Ok(counted?.matched)
    }

    /// Makes all steps, and reports after each how many jobs have matched so far.
    pub(crate) async fn steps(
        &self,
        api: &Api,
        dry_run: bool,
        report_matched: impl Fn(u64),
    ) -> Result<Total> {
        let mut total = Total { dry_run, ..Total::default() };
        let (mut cursor, mut since) = (None, None);
        loop {
            let step = BulkBody {
                dry_run,
                limit: Some(STEP),
                cursor,
                since,
                ..BulkBody::new(&self.action, self.filter.clone())
            };
            let answer = api.call(Method::POST, "/v1/jobs/bulk", &step).await;
            let answer = answer.map_err(|error| total.interrupted(self.action.name(), error))?;
            let report: BulkReportBody = answer.read()?;
            total.matched += report.matched;
            total.changed += report.changed;
            total.skipped += report.skipped;
            report_matched(total.matched);
            (cursor, since) = (report.cursor, report.since);
            if cursor.is_none() {
                return Ok(total);
            }
        }
    }
}

impl Total {
    /// What was done, in words.
    pub(crate) fn told(&self, action: BulkActionName) -> String {
        let changed = format!("{} {}", jobs(self.changed), done(action));
        match self.skipped {
            0 => changed,
            skipped => format!("{changed}, {skipped} skipped: their state has changed"),
        }
    }

    fn interrupted(&self, action: BulkActionName, error: anyhow::Error) -> anyhow::Error {
        match self.changed {
            0 => error,
            changed => {
                let why = error.to_string();
                error.context(Interrupted { changed, action, why })
            }
        }
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (jobs, done) = (jobs(self.changed), done(self.action));
        write!(f, "{jobs} {done} before this failed: {}", self.why)
    }
}

/// What the action has done to each job.
pub(crate) fn done(action: BulkActionName) -> &'static str {
    match action {
        BulkActionName::Retry => "retried",
        BulkActionName::Cancel => "cancelled",
        BulkActionName::Delete => "deleted",
        BulkActionName::DeadLetter => "dead-lettered",
        BulkActionName::Reschedule => "rescheduled",
    }
}

/// Asks for confirmation at the terminal; `look` says how to see the jobs first.
///
/// # Errors
/// A usage error if stdin is not a terminal; a failure if the answer is no.
pub(crate) fn confirm(question: &str, look: &str) -> Result<()> {
    // A script must not hang at a question that nobody reads.
    if !std::io::stdin().is_terminal() {
        return Err(Usage::error(format!("{question} Pass --yes, or look first {look}")));
    }
    // Not stdout, which may be piped to a program.
    let mut terminal = std::io::stderr();
    write!(terminal, "{question} [y/N] ").and_then(|()| terminal.flush())?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(anyhow::anyhow!("nothing was changed")),
    }
}

/// A progress bar, shown on a terminal only.
pub(crate) fn progress(length: u64, doing: &'static str) -> ProgressBar {
    let template = "{msg} {wide_bar} {human_pos}/{human_len}  {eta}";
    let bar = ProgressBar::new(length).with_message(doing);
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn spinner(doing: &'static str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_message(doing);
    match ProgressStyle::with_template("{spinner} {msg} {human_pos}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// `1 job`, `2 jobs`.
pub(crate) fn jobs(number: u64) -> String {
    if number == 1 { "1 job".to_owned() } else { format!("{number} jobs") }
}
