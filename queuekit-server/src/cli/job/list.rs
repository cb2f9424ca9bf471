//! `queuekit job list`

use std::num::NonZeroUsize;

use anyhow::Result;
use clap::Args;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::cli::api::Api;
use crate::cli::exit::Exit;
use crate::cli::filter::{self, FILTERS, Filter};
use crate::cli::output::{Output, remark};
use crate::cli::shown::{ago, brief, or_dash, status};
use crate::cli::table::{Cell, Table};

/// Jobs that are asked for at once.
const PAGE: usize = 200;
const ERROR_LETTERS: usize = 60;

/// List jobs: running ones first, then those that wait, dead and ended ones
#[derive(Args, Debug)]
#[command(after_help = after_help())]
pub(crate) struct List {
    /// Which, as state:dead kind:email; all if left out
    #[arg(value_name = "FILTER", value_parser = filter::word)]
    filter: Vec<String>,
    /// Show this many at most
    #[arg(long, value_name = "N", default_value = "50")]
    limit: NonZeroUsize,
}

fn after_help() -> String {
    format!(
        "{FILTERS}

Examples:
  queuekit job list state:dead older:1h
  queuekit job list queue:emails error:\"connection refused\" --limit 500
  queuekit job list state:running --json | jq -r .id

With --json each job is a line, as GET /v1/jobs/{{id}} answers it."
    )
}

/// What a row shows of a job.
#[derive(Deserialize)]
struct JobRow {
    id: String,
    queue: String,
    r#type: String,
    status: String,
    attempts: u32,
    max_attempts: u32,
    created_at: Timestamp,
    worker: Option<String>,
    reason: Option<String>,
    #[serde(default)]
    errors: Vec<ErrorRow>,
}

#[derive(Deserialize)]
struct ErrorRow {
    error: String,
}

#[derive(Serialize)]
struct Query<'a> {
    #[serde(flatten)]
    filter: &'a Filter,
    limit: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

#[derive(Deserialize)]
struct Page {
    jobs: Vec<Box<RawValue>>,
    cursor: Option<String>,
}

impl List {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<Exit> {
        let filter = Filter::read(self.filter.iter().map(String::as_str))?;
        list(api, &filter, self.limit.get(), output).await
    }
}

/// Shows the jobs of a filter.
pub(crate) async fn list(api: &Api, filter: &Filter, limit: usize, output: Output) -> Result<Exit> {
    let (mut jobs, mut cursor) = (Vec::new(), None);
    loop {
        // One more than is shown tells whether there are more.
        let query = Query { filter, limit: PAGE.min(limit - jobs.len() + 1), cursor };
        let page: Page = api.find("/v1/jobs", &query).await?.read()?;
        jobs.extend(page.jobs);
        cursor = page.cursor;
        if cursor.is_none() || jobs.len() > limit {
            break;
        }
    }
    let there_are_more = jobs.len() > limit;
    jobs.truncate(limit);
    output.list(&jobs, table(&jobs)?)?;
    if there_are_more {
        remark(format_args!("there are more: --limit shows more than {limit}"));
    }
    Ok(Exit::Success)
}

/// Jobs as rows.
fn table(jobs: &[Box<RawValue>]) -> Result<Table> {
    let names = ["ID", "TYPE", "QUEUE", "STATUS", "#TRIES", "ENQUEUED", "WHAT"];
    let mut table = Table::new(&names, "no jobs match");
    for job in jobs {
        let job: JobRow = serde_json::from_str(job.get())?;
        let last = job.errors.last().map(|error| error.error.as_str());
        let what = match job.status.as_str() {
            "running" | "expired" => job.worker.clone(),
            "dead" | "failed" => {
                last.or(job.reason.as_deref()).map(|why| brief(why, ERROR_LETTERS))
            }
            _ => None,
        };
        table.row([
            Cell::from(&job.id),
            Cell::from(&job.r#type),
            Cell::from(&job.queue),
            status(&job.status),
            Cell::from(format_args!("{}/{}", job.attempts, job.max_attempts)),
            Cell::from(ago(job.created_at)),
            or_dash(what),
        ]);
    }
    Ok(table)
}
