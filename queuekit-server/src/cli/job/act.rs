//! `queuekit job retry`, `cancel`, `reschedule`, `bury` and `delete`

use std::str::FromStr;

use anyhow::Result;
use axum::http::Method;
use clap::Args;
use queuekit::JobId;
use serde_json::json;

use super::path;
use crate::cli::Usage;
use crate::cli::api::Api;
use crate::cli::bulk::{Action, Bulk, BulkFlags};
use crate::cli::exit::Exit;
use crate::cli::filter::{self, FILTERS, Filter};
use crate::cli::output::{Output, remark};
use crate::cli::quantity::{Span, millis};

/// Bring dead or cancelled jobs back
#[derive(Args, Debug)]
#[command(after_help = FILTERS)]
pub(crate) struct Retry {
    #[command(flatten)]
    which: Which,
}

/// Call jobs off; those that run are asked to stop
#[derive(Args, Debug)]
#[command(after_help = FILTERS)]
pub(crate) struct Cancel {
    #[command(flatten)]
    which: Which,
}

/// Let waiting jobs run at another time
#[derive(Args, Debug)]
#[command(after_help = FILTERS)]
pub(crate) struct Reschedule {
    #[command(flatten)]
    which: Which,
    /// From now on, as 10s, 5m, 2d; 0s is at once
    #[arg(long = "in", value_name = "DURATION")]
    delay: Span,
}

/// Move waiting jobs to the dead-letter queue
#[derive(Args, Debug)]
#[command(after_help = FILTERS)]
pub(crate) struct Bury {
    #[command(flatten)]
    which: Which,
    /// Why: it is shown with the job
    #[arg(long, default_value = "buried by an operator")]
    reason: String,
    /// Of jobs by id: though a worker holds it
    #[arg(long)]
    force: bool,
}

/// Delete jobs that nobody runs
#[derive(Args, Debug)]
#[command(after_help = FILTERS)]
pub(crate) struct Delete {
    #[command(flatten)]
    which: Which,
    /// Of jobs by id: though a worker holds it
    #[arg(long)]
    force: bool,
}

/// Some jobs by id, or those of a filter.
#[derive(Args, Debug)]
struct Which {
    /// Ids of jobs, or a filter, as state:dead kind:email
    #[arg(value_name = "ID|FILTER", required = true, value_parser = id_or_word)]
    which: Vec<String>,
    #[command(flatten)]
    flags: BulkFlags,
}

/// What is asked of each of some jobs.
struct Call {
    method: Method,
    /// Behind the path of the job.
    suffix: &'static str,
    body: serde_json::Value,
}

impl Retry {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<Exit> {
        let call = Call { method: Method::POST, suffix: "/retry", body: json!({}) };
        self.which.run(api, output, call, Action::Retry).await
    }
}

impl Cancel {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<Exit> {
        let call = Call { method: Method::POST, suffix: "/cancel", body: json!({}) };
        self.which.run(api, output, call, Action::Cancel).await
    }
}

impl Reschedule {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<Exit> {
        let Span(delay) = self.delay;
        let delay_ms = millis(delay);
        let body = json!({ "delay_ms": delay_ms });
        let call = Call { method: Method::POST, suffix: "/reschedule", body };
        self.which.run(api, output, call, Action::Reschedule { delay_ms }).await
    }
}

impl Bury {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<Exit> {
        let body = json!({ "reason": self.reason, "force": self.force });
        let call = Call { method: Method::POST, suffix: "/bury", body };
        self.which.refuse_force(self.force)?;
        self.which.run(api, output, call, Action::Bury { reason: self.reason }).await
    }
}

impl Delete {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<Exit> {
        let suffix = if self.force { "?force=true" } else { "" };
        let call = Call { method: Method::DELETE, suffix, body: json!({}) };
        self.which.refuse_force(self.force)?;
        self.which.run(api, output, call, Action::Delete).await
    }
}

impl Which {
    /// Filters are of jobs that nobody looked at: none of them is taken from its worker.
    fn refuse_force(&self, force: bool) -> Result<()> {
        match force && self.ids().is_none() {
            true => Err(Usage::error("--force is for jobs by id, not for those of a filter")),
            false => Ok(()),
        }
    }

    fn ids(&self) -> Option<Vec<JobId>> {
        self.which.iter().map(|word| JobId::from_str(word).ok()).collect()
    }

    async fn run(self, api: &Api, output: Output, call: Call, action: Action) -> Result<Exit> {
        if let Some(ids) = self.ids() {
            self.flags.refuse_dry_run("--dry-run is for filters: jobs by id are counted")?;
            return call.each(api, &ids, output).await;
        }
        let filter = Filter::read(self.which.iter().map(String::as_str))?;
        if filter.is_all() {
            return Err(Usage::error("name jobs by id, or by a filter, as state:dead"));
        }
        Bulk { action, filter }.run(api, self.flags, output).await?;
        Ok(Exit::Success)
    }
}

impl Call {
    /// Does it to each, whatever becomes of the others; the first failure is the command's.
    async fn each(&self, api: &Api, ids: &[JobId], output: Output) -> Result<Exit> {
        let mut exit = Exit::Success;
        for id in ids {
            let path = format!("{}{}", path(*id), self.suffix);
            match api.call(self.method.clone(), &path, &self.body).await {
                Ok(answer) => {
                    let outcome = outcome(answer.json());
                    let value = json!({ "id": id, "outcome": outcome });
                    output.answer(&value, format_args!("{id} {outcome}"))?;
                }
                Err(error) => {
                    let of = Exit::of(&error);
                    exit = if exit == Exit::Success { of } else { exit };
                    remark(format_args!("error: {id}: {error}"));
                }
            }
        }
        Ok(exit)
    }
}

fn id_or_word(text: &str) -> Result<String, String> {
    if JobId::from_str(text).is_ok() { Ok(text.to_owned()) } else { filter::word(text) }
}

/// An answer without a word says that the job is gone.
fn outcome(json: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    value["outcome"].as_str().unwrap_or("deleted").to_owned()
}
