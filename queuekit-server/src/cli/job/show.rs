//! `queuekit job show` and `queuekit job why`

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use jiff::Timestamp;
use queuekit::JobId;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::path;
use crate::cli::api::Api;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::shown::{ago, on_a_line, printable, span};

/// Show all that is stored of a job
#[derive(Args, Debug)]
pub(crate) struct Show {
    /// Of the job
    id: JobId,
}

/// Say why a job is not running
#[derive(Args, Debug)]
pub(crate) struct Why {
    /// Of the job
    id: JobId,
}

/// A job as it is told.
#[derive(Deserialize)]
pub(super) struct JobView {
    id: String,
    queue: String,
    r#type: String,
    pub(super) status: String,
    priority: u8,
    attempts: u32,
    max_attempts: u32,
    releases: u32,
    created_at: Timestamp,
    scheduled_at: Timestamp,
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    lease_expires_in_ms: Option<u64>,
    worker: Option<String>,
    partition_key: Option<String>,
    idempotency_key: Option<String>,
    payload: Option<Box<RawValue>>,
    payload_base64: Option<String>,
    result: Option<Box<RawValue>>,
    result_base64: Option<String>,
    reason: Option<String>,
    errors: Vec<ErrorView>,
    pub(super) progress: Option<ProgressView>,
    pub(super) logs: Vec<LogView>,
    metadata: BTreeMap<String, String>,
    #[serde(default)]
    cancel_requested: bool,
    moved_from: Option<String>,
}

#[derive(Deserialize)]
struct ErrorView {
    attempt: u32,
    at: Timestamp,
    worker: Option<String>,
    error: String,
}

#[derive(Deserialize, PartialEq)]
pub(super) struct ProgressView {
    pub(super) fraction: f32,
    pub(super) message: String,
}

#[derive(Deserialize)]
pub(super) struct LogView {
    pub(super) at: Timestamp,
    pub(super) text: String,
}

#[derive(Deserialize)]
struct WhyView {
    sentence: String,
}

impl Show {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<Exit> {
        let answer = api.get(&path(self.id)).await?;
        output.forward(answer.json(), || Ok(answer.read::<JobView>()?.told()))?;
        Ok(Exit::Success)
    }
}

impl Why {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<Exit> {
        let answer = api.get(&format!("{}/why", path(self.id))).await?;
        output.forward(answer.json(), || Ok(on_a_line(&answer.read::<WhyView>()?.sentence)))?;
        Ok(Exit::Success)
    }
}

impl JobView {
    fn told(&self) -> String {
        let mut rows: Vec<(&str, String)> = vec![
            ("id", self.id.clone()),
            ("type", self.r#type.clone()),
            ("queue", self.queue.clone()),
            ("status", self.status_told()),
            ("tries", format!("{} of {}", self.attempts, self.max_attempts)),
            ("priority", self.priority.to_string()),
            ("enqueued", when(self.created_at)),
        ];
        let mut add = |name, value: Option<String>| rows.extend(value.map(|value| (name, value)));
        let waits = self.scheduled_at > self.created_at && self.finished_at.is_none();
        add("scheduled", waits.then(|| when(self.scheduled_at)));
        add("started", self.started_at.map(when));
        add("ended", self.finished_at.map(when));
        add("worker", self.worker.clone());
        let left = self.lease_expires_in_ms.map(Duration::from_millis);
        add("lease", left.map(|left| format!("ends in {}", span(left))));
        add("released", (self.releases > 0).then(|| format!("{} times", self.releases)));
        add("partition key", self.partition_key.clone());
        add("idempotency key", self.idempotency_key.clone());
        add("moved from", self.moved_from.clone());
        add("reason", self.reason.clone());
        let progress = self.progress.as_ref();
        add("progress", progress.map(|at| format!("{:.0} % {}", at.fraction * 100., at.message)));
        let bytes = |json: &Option<Box<RawValue>>, base64: &Option<String>| {
            let json = json.as_ref().map(|json| json.get().to_owned());
            json.or(base64.as_ref().map(|base64| format!("base64 {base64}")))
        };
        add("payload", bytes(&self.payload, &self.payload_base64));
        add("result", bytes(&self.result, &self.result_base64));
        rows.extend(self.metadata.iter().map(|(name, value)| (name.as_str(), value.clone())));
        let rows = rows.iter().map(|(name, value)| (on_a_line(name), on_a_line(value)));
        let rows: Vec<(String, String)> = rows.collect();
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let line = |(name, value): &(String, String)| format!("{name:width$}  {value}");
        let mut told = rows.iter().map(line).collect::<Vec<_>>().join("\n");
        self.tell_errors(&mut told);
        self.tell_logs(&mut told);
        told
    }

    fn status_told(&self) -> String {
        match self.cancel_requested {
            true => format!("{}, asked to stop", self.status),
            false => self.status.clone(),
        }
    }

    fn tell_errors(&self, told: &mut String) {
        for ErrorView { attempt, at, worker, error } in &self.errors {
            let by = worker.as_ref().map(|worker| format!(" by {worker}")).unwrap_or_default();
            let error = printable(error).replace('\n', "\n  ");
            // A text takes whatever is written to it.
            let _ = write!(told, "\n\nattempt {attempt}{by}, {}\n  {error}", ago(*at));
        }
    }

    fn tell_logs(&self, told: &mut String) {
        if !self.logs.is_empty() {
            told.push_str("\n\nlog");
        }
        for line in &self.logs {
            let _ = write!(told, "\n  {}", line.told());
        }
    }
}

impl LogView {
    pub(super) fn told(&self) -> String {
        format!("{:.3}  {}", self.at, on_a_line(&self.text))
    }
}

fn when(at: Timestamp) -> String {
    format!("{at:.3}, {}", ago(at))
}
