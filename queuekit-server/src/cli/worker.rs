//! `queuekit worker`

use std::time::Duration;

use anyhow::Result;
use axum::http::Method;
use clap::{Args, Subcommand};
use queuekit::WorkerId;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::api::Api;
use super::context::{Access, Context};
use super::exit::Exit;
use super::output::Output;
use super::shown::{brief, span};
use super::table::{Cell, Table};

const LETTERS: usize = 40;

/// Look at who works, and take off the list who has died
#[derive(Subcommand, Debug)]
pub(crate) enum Worker {
    /// List the workers that said lately that they are there
    List,
    Remove(Remove),
}

/// Take a worker that has died off the list; one that still works comes back
#[derive(Args, Debug)]
pub(crate) struct Remove {
    /// Of the worker, as `worker list` shows it
    id: WorkerId,
}

#[derive(Deserialize)]
struct Workers {
    workers: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct WorkerView {
    id: String,
    queues: Vec<String>,
    types: Vec<String>,
    slots: u32,
    running: u32,
    age_ms: u64,
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

async fn list(api: &Api, output: Output) -> Result<()> {
    let Workers { workers } = api.get("/v1/workers").await?.read()?;
    output.list(&workers, table(&workers)?)
}

async fn remove(api: &Api, id: &WorkerId, output: Output) -> Result<()> {
    api.act(Method::DELETE, &format!("/v1/workers/{id}")).await?;
    let value = json!({ "worker": id, "outcome": "removed" });
    output.answer(&value, format_args!("{id} is gone; if it still works, it comes back"))
}

fn table(workers: &[Box<RawValue>]) -> Result<Table> {
    let names = ["WORKER", "#RUNNING", "#SLOTS", "QUEUES", "TYPES", "SEEN"];
    let mut table = Table::new(&names, "nobody works: `queuekit work` starts a worker");
    for worker in workers {
        let worker: WorkerView = serde_json::from_str(worker.get())?;
        table.row([
            Cell::from(&worker.id),
            Cell::from(worker.running),
            Cell::from(worker.slots),
            Cell::from(brief(&worker.queues.join(","), LETTERS)),
            Cell::from(brief(&worker.types.join(","), LETTERS)),
            Cell::from(format_args!("{} ago", span(Duration::from_millis(worker.age_ms)))),
        ]);
    }
    Ok(table)
}
