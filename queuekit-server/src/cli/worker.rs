//! `queuekit worker`

use std::time::Duration;

use anyhow::Result;
use axum::http::Method;
use clap::{Args, Subcommand};
use queuekit::workers::WorkerId;
use serde_json::json;
use serde_json::value::RawValue;

use super::api::Api;
use super::context::{Access, Context};
use super::exit::Exit;
use super::format::{brief, span};
use super::output::Output;
use super::table::{Cell, Table};
use crate::wire::WorkerBody;

const LETTERS: usize = 40;

/// List and remove workers
#[derive(Subcommand, Debug)]
pub(crate) enum Worker {
    /// List the workers that have sent a beat recently
    List,
    Remove(Remove),
}

/// Remove a worker that has died from the list; one that still runs is listed again
#[derive(Args, Debug)]
pub(crate) struct Remove {
    /// ID of the worker, as `worker list` shows it
    id: WorkerId,
}

impl Worker {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let output = context.output;
        let run = async |api: &Api| match self {
            Self::List => list(api, output).await,
            Self::Remove(Remove { id }) => remove(api, &id, output).await,
        };
        context.with_api(Access::Existing, run).await?;
        Ok(Exit::Success)
    }
}

/// All workers, as the server answered them.
pub(super) async fn all(api: &Api) -> Result<Vec<Box<RawValue>>> {
    api.all("/v1/workers?limit=1000", "workers").await
}

async fn list(api: &Api, output: Output) -> Result<()> {
    let workers = all(api).await?;
    output.list(&workers, table(&workers)?)
}

async fn remove(api: &Api, id: &WorkerId, output: Output) -> Result<()> {
    api.act(Method::DELETE, &format!("/v1/workers/{id}")).await?;
    let value = json!({ "worker": id, "outcome": "removed" });
    output.answer(&value, format_args!("{id} was removed; if it still runs, it is listed again"))
}

fn table(workers: &[Box<RawValue>]) -> Result<Table> {
    let names = ["WORKER", "#RUNNING", "#SLOTS", "QUEUES", "KINDS", "SEEN"];
    let mut table = Table::new(&names, "no workers: `queuekit work` starts one");
    for worker in workers {
        let worker: WorkerBody = serde_json::from_str(worker.get())?;
        table.row([
            Cell::from(&worker.id),
            Cell::from(worker.running),
            Cell::from(worker.slots),
            Cell::from(brief(&worker.queues.join(","), LETTERS)),
            Cell::from(brief(&worker.kinds.join(","), LETTERS)),
            Cell::from(format_args!("{} ago", span(Duration::from_millis(worker.age_ms)))),
        ]);
    }
    Ok(table)
}
