//! `queuekit job list`

use std::num::NonZeroUsize;

use anyhow::Result;
use clap::Args;
use queuekit::{Job, Status};
use serde_json::value::RawValue;

use crate::cli::api::Api;
use crate::cli::cells::{or_dash, status};
use crate::cli::exit::Exit;
use crate::cli::format::{ago, brief};
use crate::cli::output::{Output, remark};
use crate::cli::table::{Cell, Table};
use crate::grammar::filter::{self, FILTERS};
use crate::wire::{FilterBody, JobQuery, JobsBody, PageQuery, Time};

/// Jobs per request.
const PAGE: usize = 200;
const ERROR_LETTERS: usize = 60;

/// List jobs of each queue: running first, then pending, dead, cancelled and completed
#[derive(Args, Debug)]
#[command(after_help = after_help())]
pub(crate) struct List {
    /// Filter, such as status:dead kind:email [default: all jobs]
    #[arg(value_name = "FILTER", value_parser = filter::word)]
    filter: Vec<String>,
    /// Show ended jobs of all queues, the newest end first
    #[arg(long)]
    recent: bool,
    /// Maximum number of jobs to show
    #[arg(long, value_name = "N", default_value = "50")]
    limit: NonZeroUsize,
}

fn after_help() -> String {
    format!(
        "{FILTERS}

Examples:
  queuekit job list status:dead older:1h
  queuekit job list queue:emails error:\"connection refused\" --limit 500
  queuekit job list status:running --json | jq -r .id
  queuekit job list --recent status:dead,cancelled
  queuekit job list meta.tenant:acme payload.user.id:7

With --json it prints a line for each job, as GET /v1/jobs/{{id}} answers it."
    )
}

impl List {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<Exit> {
        let filter = FilterBody::read(self.filter.iter().map(String::as_str))?;
        show(api, &filter, self.recent, self.limit.get(), output).await
    }
}

/// Shows the jobs that match a filter.
pub(crate) async fn list(
    api: &Api,
    filter: &FilterBody,
    limit: usize,
    output: Output,
) -> Result<Exit> {
    show(api, filter, false, limit, output).await
}

async fn show(
    api: &Api,
    filter: &FilterBody,
    recent: bool,
    limit: usize,
    output: Output,
) -> Result<Exit> {
    let mut jobs = Vec::new();
    let page = PageQuery { recent, ..PageQuery::default() };
    let mut query = JobQuery { filter: filter.clone(), page };
    loop {
        // One more than is shown, to know whether there are more.
        query.page.limit = Some(PAGE.min(limit - jobs.len() + 1));
        let page: JobsBody<Box<RawValue>> = api.find("/v1/jobs", &query).await?.read()?;
        jobs.extend(page.jobs);
        query.page.cursor = page.cursor;
        if query.page.cursor.is_none() || jobs.len() > limit {
            break;
        }
    }
    let there_are_more = jobs.len() > limit;
    jobs.truncate(limit);
    output.list(&jobs, table(&jobs, recent)?)?;
    if there_are_more {
        remark(format_args!("more jobs match: raise --limit to show them"));
    }
    Ok(Exit::Success)
}

/// The first job that matches a filter.
pub(crate) async fn first(api: &Api, filter: &FilterBody) -> Result<Option<Job>> {
    let page = PageQuery { limit: Some(1), ..PageQuery::default() };
    let mut query = JobQuery { filter: filter.clone(), page };
    loop {
        let page: JobsBody<Box<RawValue>> = api.find("/v1/jobs", &query).await?.read()?;
        if let Some(job) = page.jobs.first() {
            return Ok(Some(serde_json::from_str(job.get())?));
        }
        query.page.cursor = page.cursor;
        if query.page.cursor.is_none() {
            return Ok(None);
        }
    }
}

/// Jobs as rows, with when they were enqueued, or when they ended.
fn table(jobs: &[Box<RawValue>], recent: bool) -> Result<Table> {
    let when = if recent { "ENDED" } else { "ENQUEUED" };
    let names = ["ID", "KIND", "QUEUE", "STATUS", "#ATTEMPTS", when, "DETAILS"];
    let mut table = Table::new(&names, "no jobs match");
    for job in jobs {
        let job: Job = serde_json::from_str(job.get())?;
        let last = job.errors.last().map(|failure| &failure.error);
        let marked = job.undecodable().map(|mark| format!("undecodable: {}", mark.error));
        let what = match job.status {
            Status::Running | Status::Expired => job.worker.as_ref().map(ToString::to_string),
            _ if marked.is_some() => marked.map(|mark| brief(&mark, ERROR_LETTERS)),
            Status::Dead | Status::Failed => {
                last.or(job.reason.as_ref()).map(|why| brief(why.as_str(), ERROR_LETTERS))
            }
            _ => None,
        };
        let at = job.finished_at.filter(|_| recent).unwrap_or(job.created_at);
        table.row([
            Cell::from(job.id),
            Cell::from(&job.kind),
            Cell::from(&job.queue),
            status(job.status),
            Cell::from(format_args!("{}/{}", job.attempts, job.max_attempts)),
            Cell::from(ago(Time(at))),
            or_dash(what),
        ]);
    }
    Ok(table)
}
