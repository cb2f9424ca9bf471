//! `queuekit dlq`

use std::num::NonZeroUsize;

use anyhow::Result;
use clap::{Args, Subcommand};
use queuekit::QueueName;
use serde_json::value::RawValue;

use super::api::Api;
use super::bulk::{Action, Bulk, BulkFlags};
use super::context::{Access, Context};
use super::exit::Exit;
use super::filter::{self, FILTERS, Filter};
use super::output::Output;
use super::{job, queue};
use crate::cli::Usage;

/// Dead-letter queues: jobs that will not be tried again until somebody says so
#[derive(Subcommand, Debug)]
pub(crate) enum Dlq {
    /// List the queues that have dead jobs
    List,
    Show(Show),
    Retry(Change),
    Purge(Change),
}

/// Show the dead jobs of a queue, with their last errors
#[derive(Args, Debug)]
#[command(after_help = FILTERS)]
pub(crate) struct Show {
    /// Of the queue
    name: QueueName,
    /// Only those that match, as kind:email error:timeout
    #[arg(value_name = "FILTER", value_parser = filter::word)]
    filter: Vec<String>,
    /// Show this many at most
    #[arg(long, value_name = "N", default_value = "50")]
    limit: NonZeroUsize,
}

/// Of the dead jobs of a queue: `retry` brings them back, `purge` deletes them
#[derive(Args, Debug)]
#[command(after_help = FILTERS)]
pub(crate) struct Change {
    /// Of the queue
    name: QueueName,
    /// Only those that match, as kind:email error:timeout
    #[arg(value_name = "FILTER", value_parser = filter::word)]
    filter: Vec<String>,
    #[command(flatten)]
    flags: BulkFlags,
}

impl Dlq {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let output = context.output;
        let run = async |api: &Api| match self {
            Self::List => list(api, output).await,
            Self::Show(Show { name, filter, limit }) => {
                let filter = dead(api, &name, &filter).await?;
                job::list(api, &filter, limit.get(), output).await.map(drop)
            }
            Self::Retry(change) => change.run(api, Action::Retry, output).await,
            Self::Purge(change) => change.run(api, Action::Delete, output).await,
        };
        context.with_api(Access::Existing, run).await?;
        Ok(Exit::Success)
    }
}

impl Change {
    async fn run(self, api: &Api, action: Action, output: Output) -> Result<()> {
        let filter = dead(api, &self.name, &self.filter).await?;
        Bulk { action, filter }.run(api, self.flags, output).await
    }
}

async fn list(api: &Api, output: Output) -> Result<()> {
    let queues = queue::all(api).await?;
    let rows = queue::rows(&queues)?;
    let dead: Vec<(Box<RawValue>, queue::QueueView)> =
        queues.into_iter().zip(rows).filter(|(_, queue)| queue.value("dead") > 0).collect();
    let (queues, rows): (Vec<_>, Vec<_>) = dead.into_iter().unzip();
    if rows.is_empty() && !output.json {
        return output.line("no queue has dead jobs");
    }
    output.list(&queues, queue::table(&rows))
}

/// The dead jobs of a queue that is there.
async fn dead(api: &Api, name: &QueueName, filter: &[String]) -> Result<Filter> {
    let mut filter = Filter::read(filter.iter().map(String::as_str))?;
    if filter.queue.is_some() || filter.status.is_some() {
        return Err(Usage::error("a dead-letter queue is of one queue, and all in it is dead"));
    }
    api.get(&format!("/v1/queues/{name}")).await?;
    filter.queue = Some(name.to_string());
    filter.status = Some("dead".to_owned());
    Ok(filter)
}
