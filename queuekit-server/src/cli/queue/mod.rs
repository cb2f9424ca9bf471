//! `queuekit queue`

mod figures;
mod settings;

use anyhow::Result;
use axum::http::Method;
use clap::{Args, Subcommand};
use queuekit::QueueName;
use serde_json::json;

use super::api::Api;
use super::bulk::{Action, Bulk, BulkFlags, confirm, jobs};
use super::context::{Access, Context};
use super::exit::Exit;
use super::filter::{self, FILTERS, Filter};
use super::output::Output;
use crate::cli::Usage;

pub(crate) use figures::{QueueView, all, list, rows, table};

/// Look at queues, pause, set up and empty them
#[derive(Subcommand, Debug)]
pub(crate) enum Queue {
    /// List all queues with their figures
    List,
    /// Show the figures and settings of a queue
    Show(Named),
    /// Let nobody take jobs of a queue until it is resumed; running ones go on
    Pause(Named),
    /// End a pause
    Resume(Named),
    Purge(Purge),
    Set(Box<settings::Set>),
    Remove(Remove),
}

/// A queue.
#[derive(Args, Debug)]
pub(crate) struct Named {
    /// Of the queue
    name: QueueName,
}

/// Delete jobs of a queue that nobody runs
#[derive(Args, Debug)]
#[command(after_help = FILTERS)]
pub(crate) struct Purge {
    /// Of the queue
    name: QueueName,
    /// Only those that match; all but running ones if left out
    #[arg(value_name = "FILTER", value_parser = filter::word)]
    filter: Vec<String>,
    #[command(flatten)]
    flags: BulkFlags,
}

/// Remove a queue with its settings
#[derive(Args, Debug)]
pub(crate) struct Remove {
    /// Of the queue
    name: QueueName,
    /// Though it has jobs: they are deleted, unless some run
    #[arg(long)]
    force: bool,
    /// Count the jobs that would be deleted with it, and change nothing
    #[arg(long, requires = "force")]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl Queue {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let output = context.output;
        // Settings may come before the first job.
        let access = if matches!(self, Self::Set(_)) { Access::Creating } else { Access::Existing };
        let run = async |api: &Api| match self {
            Self::List => list(api, output).await,
            Self::Show(Named { name }) => figures::show(api, &name, output).await,
            Self::Pause(Named { name }) => turn(api, &name, "pause", output).await,
            Self::Resume(Named { name }) => turn(api, &name, "resume", output).await,
            Self::Purge(purge) => purge.run(api, output).await,
            Self::Set(set) => set.run(api, output).await,
            Self::Remove(remove) => remove.run(api, output).await,
        };
        context.with_api(access, run).await?;
        Ok(Exit::Success)
    }
}

fn path(name: &QueueName) -> String {
    format!("/v1/queues/{name}")
}

/// Pauses or resumes a queue that exists: a slip of the pen must not make another one.
async fn turn(api: &Api, name: &QueueName, action: &str, output: Output) -> Result<()> {
    api.get(&path(name)).await?;
    let answer = api.act(Method::POST, &format!("{}/{action}", path(name))).await?;
    let done = if action == "pause" { "is paused: `queue resume` ends it" } else { "is served" };
    output.forward(answer.json(), || Ok(format!("{name} {done}")))
}

impl Purge {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let mut filter = Filter::read(self.filter.iter().map(String::as_str))?;
        if filter.queue.is_some() {
            return Err(Usage::error("the queue stands before the filter"));
        }
        api.get(&path(&self.name)).await?;
        filter.queue = Some(self.name.to_string());
        Bulk { action: Action::Delete, filter }.run(api, self.flags, output).await
    }
}

impl Remove {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let name = &self.name;
        let number = api.get(&path(name)).await?.read::<QueueView>()?.jobs();
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
        output.answer(&value, format!("{name} is gone"))
    }
}
