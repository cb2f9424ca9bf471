//! `queuekit worker`

use std::time::Duration;

use anyhow::Result;
use clap::Subcommand;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::api::Api;
use super::context::{Access, Context};
use super::exit::Exit;
use super::shown::{brief, span};
use super::table::{Cell, Table};

const LETTERS: usize = 40;

/// Look at who works
#[derive(Subcommand, Debug)]
pub(crate) enum Worker {
    /// List the workers that said lately that they are there
    List,
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
        let Self::List = self;
        let output = context.output;
        let list = async |api: &Api| {
            let Workers { workers } = api.get("/v1/workers").await?.read()?;
            output.list(&workers, table(&workers)?)
        };
        context.with_api(Access::Existing, list).await?;
        Ok(Exit::Success)
    }
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
