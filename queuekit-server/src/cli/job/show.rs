//! `queuekit job show` and `queuekit job why`

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use queuekit::JobId;
use serde_json::value::RawValue;

use super::path;
use crate::cli::api::Api;
use crate::cli::exit::Exit;
use crate::cli::format::{ago, on_a_line, printable, span};
use crate::cli::output::Output;
use crate::wire::{FailureBody, JobBody, LineBody, Time, WhyBody};

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
        output.forward(answer.json(), || Ok(told(&answer.read()?)))?;
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

/// The fields of a job that are shown.
fn told(job: &JobBody<'_>) -> String {
    let mut told = table(&rows(job));
    tell_errors(&job.errors, &mut told);
    tell_logs(&job.logs, &mut told);
    told
}

fn rows<'a>(job: &'a JobBody<'_>) -> Vec<(&'a str, String)> {
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
    let text = |text: &Option<Cow<'_, str>>| text.as_deref().map(str::to_owned);
    let waits = job.scheduled_at.0 > job.created_at.0 && job.finished_at.is_none();
    add("scheduled", waits.then(|| when(job.scheduled_at)));
    add("started", job.started_at.map(when));
    add("ended", job.finished_at.map(when));
    add("worker", text(&job.worker));
    let left = job.lease_expires_in_ms.map(Duration::from_millis);
    add("lease", left.map(|left| format!("ends in {}", span(left))));
    add("released", (job.releases > 0).then(|| format!("{} times", job.releases)));
    add("partition key", text(&job.partition_key));
    add("idempotency key", text(&job.idempotency_key));
    add("moved from", job.moved_from.map(|id| id.to_string()));
    add("reason", text(&job.reason));
    let progress = job.progress.as_ref();
    add("progress", progress.map(|at| format!("{:.0} % {}", at.fraction * 100., at.message)));
    let bytes = |json: &Option<Cow<'_, RawValue>>, base64: &Option<String>| {
        let json = json.as_ref().map(|json| json.get().to_owned());
        json.or(base64.as_ref().map(|base64| format!("base64 {base64}")))
    };
    add("payload", bytes(&job.payload, &job.payload_base64));
    add("result", bytes(&job.result, &job.result_base64));
    rows.extend(job.metadata.iter().map(|(name, value)| (name, value.to_owned())));
    rows
}

fn table(rows: &[(&str, String)]) -> String {
    let rows = rows.iter().map(|(name, value)| (on_a_line(name), on_a_line(value)));
    let rows: Vec<(String, String)> = rows.collect();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, value): &(String, String)| format!("{name:width$}  {value}");
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn status_told(job: &JobBody<'_>) -> String {
    match job.cancel_requested {
        true => format!("{}, asked to stop", job.status),
        false => job.status.to_string(),
    }
}

fn tell_errors(errors: &[FailureBody<'_>], told: &mut String) {
    for FailureBody { attempt, at, worker, error, .. } in errors {
        let by = worker.as_ref().map(|worker| format!(" by {worker}")).unwrap_or_default();
        let error = printable(error).replace('\n', "\n  ");
        // A text takes whatever is written to it.
        let _ = write!(told, "\n\nattempt {attempt}{by}, {}\n  {error}", ago(*at));
    }
}

fn tell_logs(lines: &[LineBody<'_>], told: &mut String) {
    if !lines.is_empty() {
        told.push_str("\n\nlog");
    }
    for line in lines {
        let _ = write!(told, "\n  {}", line_told(line));
    }
}

pub(super) fn line_told(line: &LineBody<'_>) -> String {
    format!("{:.3}  {}", line.at, on_a_line(&line.text))
}

fn when(at: Time) -> String {
    format!("{at:.3}, {}", ago(at))
}
