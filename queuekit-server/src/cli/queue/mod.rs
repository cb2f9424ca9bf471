//! `queuekit queue`

mod figures;
mod route;
mod settings;

use anyhow::Result;
use axum::http::Method;
use clap::{Args, Subcommand};
use queuekit::QueueName;
use queuekit::jobs::BulkAction;
use serde_json::json;

use super::api::Api;
use super::bulk::{Bulk, BulkFlags, confirm, jobs};
use super::context::{Access, Context};
use super::exit::Exit;
use super::output::Output;
use crate::error::Usage;
use crate::grammar::{Span, filter};
use crate::wire::{FilterBody, PauseBody};

use figures::all_jobs;
pub(crate) use figures::{all, list, rows, table, value};
use route::path;
pub(crate) use settings::lines as settings_told;

/// Show, pause, configure, purge and remove queues
#[derive(Subcommand, Debug)]
pub(crate) enum Queue {
    /// List all queues with their job counts
    List,
    /// Show the job counts, health and settings of a queue
    Show(Named),
    Pause(Pause),
    /// Resume a paused queue
    Resume(Named),
    Purge(Purge),
    Set(Box<settings::Set>),
    Remove(Remove),
}

/// A queue.
#[derive(Args, Debug)]
pub(crate) struct Named {
    /// Queue name
    name: QueueName,
}

/// Pause a queue: workers reserve no more of its jobs; running jobs continue
#[derive(Args, Debug)]
pub(crate) struct Pause {
    /// Queue name
    name: QueueName,
    /// Why, for those who see it: at most 500 bytes
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Resume it by itself after this time, such as 30m
    #[arg(long = "for", value_name = "DURATION")]
    time: Option<Span>,
}

const PURGE: &str = "\
See `queuekit job list --help` for filters. This command takes all but queue:, because the queue is
an argument.";

/// Delete the jobs of a queue, except running ones
#[derive(Args, Debug)]
#[command(after_help = PURGE)]
pub(crate) struct Purge {
    /// Queue name
    name: QueueName,
    /// Delete only the jobs that match this filter
    #[arg(value_name = "FILTER", value_parser = filter::word)]
    filter: Vec<String>,
    #[command(flatten)]
    flags: BulkFlags,
}

/// Remove an empty queue and its settings
#[derive(Args, Debug)]
pub(crate) struct Remove {
    /// Queue name
    name: QueueName,
    /// Remove the queue with its jobs; refused while any of them is running
    #[arg(long)]
    force: bool,
    /// Count the jobs that would be deleted, and change nothing
    #[arg(long, requires = "force")]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

impl Queue {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let output = context.output;
        // A queue may be configured before its first job.
        let access = if matches!(self, Self::Set(_)) { Access::Creating } else { Access::Existing };
        let run = async |api: &Api| match self {
            Self::List => list(api, output).await,
            Self::Show(Named { name }) => figures::show(api, &name, output).await,
            Self::Pause(pause) => pause.run(api, output).await,
            Self::Resume(Named { name }) => resume(api, &name, output).await,
            Self::Purge(purge) => purge.run(api, output).await,
            Self::Set(set) => set.run(api, output).await,
            Self::Remove(remove) => remove.run(api, output).await,
        };
        context.with_api(access, run).await?;
        Ok(Exit::Success)
    }
}

impl Pause {
    /// Pauses a queue that exists: a typo must not create another one.
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let Self { name, reason, time } = self;
        api.get(&path(&name)).await?;
        let for_ms = time.map(|Span(time)| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        let body = PauseBody { reason, for_ms };
        let answer = api.call(Method::POST, &format!("{}/pause", path(&name)), &body).await?;
        let end = time.map_or_else(String::new, |time| format!(" for {time}"));
        let done = format!("{name} is paused{end}: `queue resume` resumes it");
        output.forward(answer.json(), || Ok(done))
    }
}

/// Resumes a queue that exists: a typo must not create another one.
async fn resume(api: &Api, name: &QueueName, output: Output) -> Result<()> {
    api.get(&path(name)).await?;
    let answer = api.act(Method::POST, &format!("{}/resume", path(name))).await?;
    output.forward(answer.json(), || Ok(format!("{name} is served")))
}

impl Purge {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let mut filter = FilterBody::read(self.filter.iter().map(String::as_str))?;
        if filter.queue.is_some() {
            return Err(Usage::error("leave out queue: in the filter; the queue is given already"));
        }
        api.get(&path(&self.name)).await?;
        filter.queue = Some(self.name.to_string());
        Bulk { action: BulkAction::Delete, filter }.run(api, self.flags, output).await
    }
}

impl Remove {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let name = &self.name;
        let number = all_jobs(&api.get(&path(name)).await?.read()?);
        let jobs = jobs(number);
        if self.dry_run {
            let value = json!({ "queue": name, "outcome": "unchanged", "jobs": number });
            let text = format!("{name} would be removed with {jobs}; nothing was changed");
            return output.answer(&value, text);
        }
        if self.force && !self.yes {
            confirm(&format!("remove {name} with {jobs}?"), "with --dry-run")?;
        }
        let force = if self.force { "?force=true" } else { "" };
        api.act(Method::DELETE, &format!("{}{force}", path(name))).await?;
        let value = json!({ "queue": name, "outcome": "removed", "jobs": number });
        output.answer(&value, format!("{name} was removed"))
    }
}
