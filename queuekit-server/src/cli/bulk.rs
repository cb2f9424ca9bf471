//! One action on all jobs of a filter: counted first, then done in steps.

use std::io::{IsTerminal, Write};

use anyhow::Result;
use axum::http::Method;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use queuekit::{State, StatusSet};
use serde::{Deserialize, Serialize};

use super::api::Api;
use super::filter::Filter;
use super::output::{Output, remark};
use crate::cli::Usage;

/// Jobs that a step examines.
const STEP: usize = 1000;

/// Flags of whatever acts on many jobs.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct BulkFlags {
    /// Count the jobs that match, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask before many jobs are changed
    #[arg(long, short)]
    yes: bool,
}

/// What is done with each.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub(crate) enum Action {
    Retry,
    Cancel,
    Delete,
    Bury { reason: String },
    Reschedule { delay_ms: u64 },
}

/// One action on the jobs of a filter.
#[derive(Debug)]
pub(crate) struct Bulk {
    pub(crate) action: Action,
    pub(crate) filter: Filter,
}

/// A step, as the route takes it.
#[derive(Serialize)]
struct Step<'a> {
    #[serde(flatten)]
    action: &'a Action,
    filter: &'a Filter,
    dry_run: bool,
    limit: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
}

/// What a step did.
#[derive(Deserialize)]
struct Report {
    matched: u64,
    changed: u64,
    skipped: u64,
    cursor: Option<String>,
    since: Option<String>,
}

/// What all of them did.
#[derive(Default, Serialize)]
struct Total {
    dry_run: bool,
    matched: u64,
    changed: u64,
    skipped: u64,
}

impl BulkFlags {
    /// # Errors
    /// A usage error where it makes no sense, for this reason.
    pub(crate) fn refuse_dry_run(self, why: &str) -> Result<()> {
        if self.dry_run { Err(Usage::error(why)) } else { Ok(()) }
    }
}

impl Bulk {
    /// Counts, asks, and does it.
    pub(crate) async fn run(mut self, api: &Api, flags: BulkFlags, output: Output) -> Result<()> {
        self.filter.keep_statuses(self.action.statuses())?;
        let verb = self.action.verb();
        let counting = spinner("counting");
        let counted = self.steps(api, true, &counting).await;
        counting.finish_and_clear();
        let counted = counted?;
        let jobs = jobs(counted.matched);
        if flags.dry_run {
            let text = format!("{jobs} would be {}; nothing was changed", self.action.done());
            return output.answer(&counted, text);
        }
        if counted.matched > 0 && !flags.yes {
            confirm(&format!("{verb} {jobs}?"), "with --dry-run")?;
        }
        let bar = progress(counted.matched, verb);
        let total = self.steps(api, false, &bar).await;
        bar.finish_and_clear();
        let total = total?;
        let mut text = format!("{} {}", self::jobs(total.changed), self.action.done());
        if total.skipped > 0 {
            text += &format!(", {} left as they are: their state forbids it", total.skipped);
        }
        output.answer(&total, text)
    }

    async fn steps(&self, api: &Api, dry_run: bool, bar: &ProgressBar) -> Result<Total> {
        let mut total = Total { dry_run, ..Total::default() };
        let (mut cursor, mut since) = (None, None);
        loop {
            let (action, filter) = (&self.action, &self.filter);
            let step = Step { action, filter, dry_run, limit: STEP, cursor, since };
            let answer = api.call(Method::POST, "/v1/jobs/bulk", &step).await;
            if answer.is_err() && total.changed > 0 {
                remark(format_args!(
                    "{} {} before this failed:",
                    jobs(total.changed),
                    action.done()
                ));
            }
            let report: Report = answer?.read()?;
            total.matched += report.matched;
            total.changed += report.changed;
            total.skipped += report.skipped;
            bar.set_position(total.matched);
            (cursor, since) = (report.cursor, report.since);
            if cursor.is_none() {
                return Ok(total);
            }
        }
    }
}

impl Action {
    fn verb(&self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::Delete => "delete",
            Self::Bury { .. } => "bury",
            Self::Reschedule { .. } => "reschedule",
        }
    }

    fn done(&self) -> &'static str {
        match self {
            Self::Retry => "retried",
            Self::Cancel => "cancelled",
            Self::Delete => "deleted",
            Self::Bury { .. } => "buried",
            Self::Reschedule { .. } => "rescheduled",
        }
    }

    /// In which it can be done: others are not counted.
    fn statuses(&self) -> StatusSet {
        let states: &[State] = match self {
            Self::Retry => &[State::Dead, State::Cancelled],
            Self::Cancel => &[State::Running, State::Pending],
            Self::Delete => &[State::Pending, State::Dead, State::Cancelled, State::Completed],
            Self::Bury { .. } | Self::Reschedule { .. } => &[State::Pending],
        };
        states.iter().fold(StatusSet::NONE, |all, state| all.union(state.statuses()))
    }
}

/// Asks whoever sits at the terminal; `look` says how to see what it is about.
///
/// # Errors
/// A usage error if nobody does, or if the answer is no.
pub(crate) fn confirm(question: &str, look: &str) -> Result<()> {
    if !std::io::stdin().is_terminal() {
        return Err(Usage::error(format!("{question} Say --yes, or look first {look}")));
    }
    let mut terminal = std::io::stderr();
    write!(terminal, "{question} [y/N] ").and_then(|()| terminal.flush())?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(anyhow::anyhow!("nothing was changed")),
    }
}

/// Shown on a terminal only.
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
