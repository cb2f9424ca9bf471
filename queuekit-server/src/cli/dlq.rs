//! `queuekit dlq`

use std::num::NonZeroUsize;

use anyhow::Result;
use clap::{Args, Subcommand};
use queuekit::jobs::BulkAction;
use queuekit::queues::Queue;
use queuekit::{QueueName, Status};
use serde_json::value::RawValue;

use super::api::Api;
use super::bulk::{Bulk, BulkFlags};
use super::context::{Access, Context};
use super::exit::Exit;
use super::output::Output;
use super::{job, queue};
use crate::error::Usage;
use crate::grammar::filter;
use crate::wire::FilterBody;

/// Show, retry and purge dead-letter queues
#[derive(Subcommand, Debug)]
pub(crate) enum Dlq {
    /// List the queues that have dead jobs
    List,
    Show(Show),
    /// Retry the dead jobs of a queue; each gets all its attempts again
    Retry(Change),
    /// Delete the dead jobs of a queue
    Purge(Change),
}

const HELP: &str = "\
See `queuekit job list --help` for filters. This command takes all but queue: and status:, because
the queue is an argument and all jobs are dead.";

/// Show the dead jobs of a queue, with their last errors
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Show {
    /// Queue name
    name: QueueName,
    /// Show only the jobs that match, such as kind:email error:timeout
    #[arg(value_name = "FILTER", value_parser = filter::word)]
    filter: Vec<String>,
    /// Maximum number of jobs to show
    #[arg(long, value_name = "N", default_value = "50")]
    limit: NonZeroUsize,
}

/// Arguments of `retry` and `purge`.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Change {
    /// Queue name
    name: QueueName,
    /// Only the jobs that match, such as kind:email error:timeout
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
            Self::Retry(change) => change.run(api, BulkAction::Retry, output).await,
            Self::Purge(change) => change.run(api, BulkAction::Delete, output).await,
        };
        context.with_api(Access::Existing, run).await?;
        Ok(Exit::Success)
    }
}

impl Change {
    async fn run(self, api: &Api, action: BulkAction, output: Output) -> Result<()> {
        let filter = dead(api, &self.name, &self.filter).await?;
        Bulk { action, filter }.run(api, self.flags, output).await
    }
}

async fn list(api: &Api, output: Output) -> Result<()> {
    let queues = queue::all(api).await?;
    let rows = queue::rows(&queues)?;
    let dead: Vec<(Box<RawValue>, Queue)> = queues
        .into_iter()
        .zip(rows)
        .filter(|(_, queue)| queue::value(queue, Status::Dead) > 0)
        .collect();
    let (queues, rows): (Vec<_>, Vec<_>) = dead.into_iter().unzip();
    if rows.is_empty() && !output.json {
        return output.line("no queue has dead jobs");
    }
    output.list(&queues, queue::table(&rows))
}

/// A filter for the dead jobs of a queue that exists.
async fn dead(api: &Api, name: &QueueName, filter: &[String]) -> Result<FilterBody> {
    let mut filter = FilterBody::read(filter.iter().map(String::as_str))?;
    if filter.queue.is_some() || filter.status.is_some() {
        let why = "the queue is an argument, and all jobs are dead";
        return Err(Usage::error(format!("remove queue: and status: from the filter: {why}")));
    }
    // A misspelt name has no dead jobs, which would look like good news.
    api.get(&format!("/v1/queues/{name}")).await?;
    filter.queue = Some(name.to_string());
    filter.status = Some("dead".to_owned());
    Ok(filter)
}
