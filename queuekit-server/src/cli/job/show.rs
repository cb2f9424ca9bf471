//! `queuekit job show` and `queuekit job why`

use std::fmt::Write as _;

use anyhow::Result;
use clap::Args;
use queuekit::jobs::{Failure, LogLine, Release, ReleaseCause, Undecodable};
use queuekit::store::{Clock, SystemClock, WorkerId};
use queuekit::{Job, JobId, Timestamp};

use super::route::path;
use crate::cli::api::Api;
use crate::cli::exit::Exit;
use crate::cli::format::{on_a_line, printable, relative, span};
use crate::cli::output::Output;
use crate::wire::{ShownBytes, Time, WhyBody};

/// Show a job with its payload, errors and log
#[derive(Args, Debug)]
pub(crate) struct Show {
    /// Job ID
    id: JobId,
}

/// Explain why a job is not running
#[derive(Args, Debug)]
pub(crate) struct Why {
    /// Job ID
    id: JobId,
}

impl Show {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<Exit> {
        let answer = api.get(&path(self.id)).await?;
        let now = SystemClock::default().now();
        output.forward(answer.json(), || Ok(told(&answer.read()?, now)))?;
        Ok(Exit::Success)
    }
}

impl Why {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<Exit> {
        let answer = api.get(&format!("{}/why", path(self.id))).await?;
        output.forward(answer.json(), || Ok(on_a_line(&answer.read::<WhyBody>()?.sentence)))?;
        Ok(Exit::Success)
    }
}

/// A job for people: its fields, its runs with their errors, and its log. Only line ends control
/// the terminal.
pub(crate) fn told(job: &Job, now: Timestamp) -> String {
    let mut told = table(&rows(job, now));
    tell_runs(job, now, &mut told);
    tell_logs(&job.logs, &mut told);
    told
}

fn rows(job: &Job, now: Timestamp) -> Vec<(&str, String)> {
    let when = |at: Timestamp| format!("{:.3}, {}", Time(at), relative(Time(at), now));
    let mut rows: Vec<(&str, String)> = vec![
        ("id", job.id.to_string()),
        ("kind", job.kind.to_string()),
        ("queue", job.queue.to_string()),
        ("status", status_told(job)),
        ("attempts", format!("{} of {}", job.attempts, job.max_attempts)),
        ("priority", job.priority.to_string()),
        ("enqueued", when(job.created_at)),
    ];
    let mut add = |name, value: Option<String>| rows.extend(value.map(|value| (name, value)));
    let waits = job.scheduled_at > job.created_at && job.finished_at.is_none();
    add("scheduled", waits.then(|| when(job.scheduled_at)));
    add("started", job.started_at.map(when));
    add("ended", job.finished_at.map(when));
    add("worker", job.worker.as_ref().map(ToString::to_string));
    add("lease", job.lease_expires_in.map(|left| format!("ends in {}", span(left))));
    add("released", (job.releases > 0).then(|| times(job.releases)));
    add("undecodable", job.undecodable().map(|mark| mark_told(mark, now)));
    add("partition key", job.partition_key.as_ref().map(ToString::to_string));
    add("idempotency key", job.idempotency_key.as_ref().map(ToString::to_string));
    add("moved from", job.moved_from.map(|id| id.to_string()));
    add("reason", job.reason.as_ref().map(ToString::to_string));
    let progress = job.progress.as_ref();
    add("progress", progress.map(|at| format!("{:.0} % {}", at.fraction * 100., at.message)));
    add("payload", Some(shown(&job.payload)));
    add("result", job.result.as_deref().map(shown));
    rows.extend(job.metadata.iter().map(|(name, value)| (name, value.to_owned())));
    rows
}

/// What could not be read, since when, and how often.
fn mark_told(mark: &Undecodable, now: Timestamp) -> String {
    let (since, times) = (relative(Time(mark.since), now), times(mark.times));
    format!("{times}, first {since}: {}", mark.error)
}

fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// Bytes as the answer has them.
fn shown(bytes: &[u8]) -> String {
    let ShownBytes { json, base64 } = ShownBytes::of(bytes);
    json.map_or_else(
        || format!("base64 {}", base64.unwrap_or_default()),
        |json| json.get().to_owned(),
    )
}

fn table(rows: &[(&str, String)]) -> String {
    let rows = rows.iter().map(|(name, value)| (on_a_line(name), on_a_line(value)));
    let rows: Vec<(String, String)> = rows.collect();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, value): &(String, String)| format!("{name:width$}  {value}");
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn status_told(job: &Job) -> String {
    match job.cancel_requested {
        true => format!("{}, asked to stop", job.status),
        false => job.status.to_string(),
    }
}

/// Failures and releases, oldest first.
fn tell_runs(job: &Job, now: Timestamp, told: &mut String) {
    let failures = job.errors.iter().map(|failure| failure_told(failure, now));
    let mut runs: Vec<(u64, String)> = failures.collect();
    runs.extend(job.released.iter().map(|release| release_told(release, now)));
    runs.sort_by_key(|(lease_seq, _)| *lease_seq);
    told.extend(runs.into_iter().map(|(_, run)| run));
}

fn failure_told(failure: &Failure, now: Timestamp) -> (u64, String) {
    let Failure { attempt, lease_seq, at, started_at, worker, error } = failure;
    let (by, after) = (by(worker.as_ref()), after(*started_at, *at));
    let error = printable(error.as_str()).replace('\n', "\n  ");
    let ago = relative(Time(*at), now);
    (*lease_seq, format!("\n\nattempt {attempt}{by}, {ago}{after}\n  {error}"))
}

fn release_told(release: &Release, now: Timestamp) -> (u64, String) {
    let Release { lease_seq, at, started_at, worker, cause, undecodable } = release;
    let (by, after) = (by(worker.as_ref()), after(*started_at, *at));
    let cause = cause.map_or("no cause given", ReleaseCause::as_str).replace('_', " ");
    let cause = match undecodable {
        Some(mark) => format!("{cause}: {}", printable(mark.error.as_str()).replace('\n', "\n  ")),
        None => cause,
    };
    let ago = relative(Time(*at), now);
    (*lease_seq, format!("\n\nreleased{by}, {ago}{after}\n  {cause}"))
}

fn by(worker: Option<&WorkerId>) -> String {
    worker.map(|worker| format!(" by {worker}")).unwrap_or_default()
}

fn after(started: Option<Timestamp>, ended: Timestamp) -> String {
    started.map(|started| format!(", after {}", span(ended.since(started)))).unwrap_or_default()
}

fn tell_logs(lines: &[LogLine], told: &mut String) {
    if !lines.is_empty() {
        told.push_str("\n\nlog");
    }
    for line in lines {
        let _ = write!(told, "\n  {}", line_told(line));
    }
}

pub(super) fn line_told(line: &LogLine) -> String {
    format!("{:.3}  {}", Time(line.at), on_a_line(&line.text))
}
