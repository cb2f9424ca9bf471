//! `queuekit job retry`, `cancel`, `reschedule`, `dead-letter` and `delete`

use std::str::FromStr;

use anyhow::Result;
use axum::http::Method;
use clap::Args;
use queuekit::JobId;
use queuekit::jobs::BulkAction;
use serde_json::json;

use super::route::path;
use crate::cli::api::Api;
use crate::cli::bulk::{Bulk, BulkFlags};
use crate::cli::exit::Exit;
use crate::cli::output::{Output, remark};
use crate::error::Usage;
use crate::grammar::Span;
use crate::grammar::filter::{self, SEE_FILTERS};
use crate::wire::FilterBody;
use crate::wire::millis;

/// Retry dead or cancelled jobs; each gets all its attempts again
#[derive(Args, Debug)]
#[command(after_help = SEE_FILTERS)]
pub(crate) struct Retry {
    #[command(flatten)]
    which: Which,
    /// Remove the checkpoints of jobs given by id first, so that all of their steps run again
    #[arg(long)]
    fresh: bool,
}

/// Cancel jobs; running jobs are asked to stop
#[derive(Args, Debug)]
#[command(after_help = SEE_FILTERS)]
pub(crate) struct Cancel {
    #[command(flatten)]
    which: Which,
}

/// Change when pending jobs run
#[derive(Args, Debug)]
#[command(after_help = SEE_FILTERS)]
pub(crate) struct Reschedule {
    #[command(flatten)]
    which: Which,
    /// Delay from now, such as 10s, 5m, 2d; 0s: immediately
    #[arg(long = "in", value_name = "DURATION")]
    delay: Span,
}

/// Dead-letter pending jobs
#[derive(Args, Debug)]
#[command(after_help = SEE_FILTERS)]
pub(crate) struct DeadLetter {
    #[command(flatten)]
    which: Which,
    /// Reason, shown with the job
    #[arg(long, default_value = "dead-lettered by an operator")]
    reason: String,
    /// Dead-letter jobs given by id even if they are running
    #[arg(long)]
    force: bool,
}

/// Delete jobs that are not running
#[derive(Args, Debug)]
#[command(after_help = SEE_FILTERS)]
pub(crate) struct Delete {
    #[command(flatten)]
    which: Which,
    /// Delete jobs given by id even if they are running
    #[arg(long)]
    force: bool,
}

/// Jobs, by id or by filter.
#[derive(Args, Debug)]
struct Which {
    /// IDs of jobs, or a filter such as kind:email older:1h
    #[arg(value_name = "ID|FILTER", required = true, value_parser = id_or_word)]
    which: Vec<String>,
    #[command(flatten)]
    flags: BulkFlags,
}

/// The request to make for each job.
struct Call {
    method: Method,
    /// Appended to the path of the job.
    suffix: &'static str,
    body: serde_json::Value,
}

impl Retry {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<Exit> {
        let body = json!({ "fresh": self.fresh });
        let call = Call { method: Method::POST, suffix: "/retry", body };
        self.which.refuse_with_filter("--fresh", self.fresh)?;
        self.which.run(api, output, call, BulkAction::Retry).await
    }
}

impl Cancel {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<Exit> {
        let call = Call { method: Method::POST, suffix: "/cancel", body: json!({}) };
        self.which.run(api, output, call, BulkAction::Cancel).await
    }
}

impl Reschedule {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<Exit> {
        let Span(delay) = self.delay;
        let body = json!({ "delay_ms": millis(delay) });
        let call = Call { method: Method::POST, suffix: "/reschedule", body };
        self.which.run(api, output, call, BulkAction::Reschedule(delay)).await
    }
}

impl DeadLetter {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<Exit> {
        let body = json!({ "reason": self.reason, "force": self.force });
        let call = Call { method: Method::POST, suffix: "/dead-letter", body };
        self.which.refuse_with_filter("--force", self.force)?;
        self.which.run(api, output, call, BulkAction::DeadLetter(self.reason)).await
    }
}

impl Delete {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<Exit> {
        let suffix = if self.force { "?force=true" } else { "" };
        let call = Call { method: Method::DELETE, suffix, body: json!({}) };
        self.which.refuse_with_filter("--force", self.force)?;
        self.which.run(api, output, call, BulkAction::Delete).await
    }
}

impl Which {
    /// A filter may match jobs that the operator has not seen, so it takes none from its worker,
    /// and undoes no steps.
    fn refuse_with_filter(&self, flag: &str, is_set: bool) -> Result<()> {
        match is_set && self.ids().is_none() {
            true => {
                Err(Usage::error(format!("{flag} needs ids of jobs, and is refused with a filter")))
            }
            false => Ok(()),
        }
    }

    fn ids(&self) -> Option<Vec<JobId>> {
        self.which.iter().map(|word| JobId::from_str(word).ok()).collect()
    }

    async fn run(self, api: &Api, output: Output, call: Call, action: BulkAction) -> Result<Exit> {
        if let Some(ids) = self.ids() {
            self.flags.refuse_dry_run("--dry-run needs a filter, and is refused with ids")?;
            return call.each(api, &ids, output).await;
        }
        let filter = FilterBody::read(self.which.iter().map(String::as_str))?;
        if filter.is_all() {
            return Err(Usage::error("name jobs by id, or by a filter such as kind:email"));
        }
        Bulk { action, filter }.run(api, self.flags, output).await?;
        Ok(Exit::Success)
    }
}

impl Call {
    /// Makes the request for each job, even if others fail; the first failure sets the exit code.
    async fn each(&self, api: &Api, ids: &[JobId], output: Output) -> Result<Exit> {
        let mut exit = Exit::Success;
        for id in ids {
            let path = format!("{}{}", path(*id), self.suffix);
            match api.call(self.method.clone(), &path, &self.body).await {
                Ok(answer) => {
                    let outcome = outcome(answer.json().get());
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

/// The outcome; an answer without one means that the job was deleted.
fn outcome(json: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    value["outcome"].as_str().unwrap_or("deleted").to_owned()
}
