//! `queuekit worker`

use std::time::Duration;

use anyhow::Result;
use axum::http::Method;
use clap::{Args, Subcommand};
use queuekit::workers::{OrderedMode, WorkerId};
use serde_json::json;
use serde_json::value::RawValue;

use super::api::Api;
use super::cells::or_dash;
use super::context::{Access, Context};
use super::exit::Exit;
use super::format::{ago, brief, on_a_line, span};
use super::output::Output;
use super::table::{Cell, Table};
use crate::wire::{ControlBody, ControlledBody, OrdersBody, WorkerBody};

const LETTERS: usize = 40;

/// List workers, give them orders, and remove them
#[derive(Subcommand, Debug)]
pub(crate) enum Worker {
    /// List the workers that have sent a beat recently
    List,
    /// Show a worker and its running jobs, the longest-running first
    Show(Named),
    /// Stop workers from reserving jobs; running jobs continue
    Quiet(To),
    /// Let quiet workers reserve jobs again
    Resume(To),
    /// Drain and stop workers; `queuekit work` then exits with 0, and Kubernetes or another
    /// supervisor may start it again
    Stop(To),
    Slots(Slots),
    /// Remove a worker that has died from the list; one that still runs is listed again
    Remove(Named),
}

/// A worker.
#[derive(Args, Debug)]
pub(crate) struct Named {
    /// ID of the worker, as `worker list` shows it
    id: WorkerId,
}

/// Workers.
#[derive(Args, Debug)]
pub(crate) struct To {
    #[command(flatten)]
    which: Which,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct Which {
    /// ID of the worker, as `worker list` shows it
    id: Option<WorkerId>,
    /// All workers of this name
    #[arg(long)]
    name: Option<String>,
    /// All workers
    #[arg(long)]
    all: bool,
}

/// Limit how many jobs workers run at once; running jobs continue
// The usage that clap makes has the arguments in the wrong order.
#[derive(Args, Debug)]
#[command(override_usage = "queuekit worker slots [OPTIONS] <SLOTS> <ID|--name <NAME>|--all>")]
pub(crate) struct Slots {
    /// Maximum jobs to run at once; a worker never runs more than it was started with
    slots: u32,
    #[command(flatten)]
    which: Which,
}

impl Worker {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let output = context.output;
        let mode = |mode: OrderedMode| Some(mode.to_string());
        let run = async |api: &Api| match self {
            Self::List => list(api, output).await,
            Self::Show(Named { id }) => show(api, &id, output).await,
            Self::Quiet(to) => order(api, to.which, mode(OrderedMode::Quiet), None, output).await,
            Self::Resume(to) => order(api, to.which, mode(OrderedMode::Resume), None, output).await,
            Self::Stop(to) => order(api, to.which, mode(OrderedMode::Stop), None, output).await,
            Self::Slots(Slots { slots, which }) => {
                order(api, which, None, Some(slots), output).await
            }
            Self::Remove(Named { id }) => remove(api, &id, output).await,
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

async fn show(api: &Api, id: &WorkerId, output: Output) -> Result<()> {
    let answer = api.get(&format!("/v1/workers/{id}")).await?;
    let worker: WorkerBody = answer.read()?;
    output.forward(answer.json(), || Ok(shown(&worker)))
}

async fn order(
    api: &Api,
    which: Which,
    order: Option<String>,
    slots: Option<u32>,
    output: Output,
) -> Result<()> {
    let Which { id, name, all } = which;
    let workers = id.into_iter().map(Into::into).collect();
    let body = ControlBody { workers, name, all, order, slots };
    let answer = api.call(Method::POST, "/v1/workers/control", &body).await?;
    let given: ControlledBody = answer.read()?;
    let count = given.workers.len();
    let workers = if count == 1 { "1 worker".to_owned() } else { format!("{count} workers") };
    output.forward(answer.json(), || {
        Ok(format!("the order was given to {workers}; each obeys at its next beat"))
    })
}

async fn remove(api: &Api, id: &WorkerId, output: Output) -> Result<()> {
    api.act(Method::DELETE, &format!("/v1/workers/{id}")).await?;
    let value = json!({ "worker": id, "outcome": "removed" });
    output.answer(&value, format_args!("{id} was removed; if it still runs, it is listed again"))
}

fn table(workers: &[Box<RawValue>]) -> Result<Table> {
    let names =
        ["WORKER", "#RUNNING", "#SLOTS", "QUEUES", "KINDS", "HOST", "VERSION", "ORDER", "SEEN"];
    let mut table = Table::new(&names, "no workers: `queuekit work` starts one");
    for worker in workers {
        let worker: WorkerBody = serde_json::from_str(worker.get())?;
        table.row([
            Cell::from(&worker.id),
            Cell::from(worker.running),
            Cell::from(worker.slots),
            Cell::from(brief(&worker.queues.join(","), LETTERS)),
            Cell::from(brief(&worker.kinds.join(","), LETTERS)),
            said(&brief(&worker.host, LETTERS)),
            said(&brief(&worker.version, LETTERS)),
            or_dash(worker.orders.as_ref().map(ordered)),
            Cell::from(seen(&worker)),
        ]);
    }
    Ok(table)
}

/// The text, or a dash if it is empty.
fn said(text: &str) -> Cell {
    or_dash(Some(text).filter(|text| !text.is_empty()))
}

fn seen(worker: &WorkerBody) -> String {
    format!("{} ago", span(Duration::from_millis(worker.age_ms)))
}

/// An order that is not obeyed yet: `quiet, 3 slots`.
fn ordered(orders: &OrdersBody) -> String {
    let slots = orders.slots.map(|slots| format!("{slots} slots"));
    let parts = [orders.mode.clone(), slots];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn shown(worker: &WorkerBody) -> String {
    let empty = "-".to_owned();
    let or_empty = |text: &str| match text {
        "" => empty.clone(),
        text => on_a_line(text),
    };
    let more = |more: bool| if more { ",.." } else { "" };
    let rows = [
        ("worker", worker.id.clone()),
        ("name", or_empty(&worker.name)),
        ("host", or_empty(&worker.host)),
        ("process", worker.pid.map_or(empty.clone(), |pid| pid.to_string())),
        ("version", or_empty(&worker.version)),
        ("started", worker.started_at.map_or(empty.clone(), ago)),
        ("seen", seen(worker)),
        ("queues", worker.queues.join(",") + more(worker.more_queues)),
        ("kinds", worker.kinds.join(",") + more(worker.more_kinds)),
        ("running", format!("{} of {} slots", worker.running, worker.slots)),
        ("order", worker.orders.as_ref().map_or(empty.clone(), ordered)),
    ];
    let mut jobs = Table::new(&["JOB", "KIND", "RUNNING SINCE"], "it names no running jobs");
    for job in &worker.jobs {
        jobs.row([Cell::from(&job.id), Cell::from(&job.kind), Cell::from(ago(job.since))]);
    }
    let rows: Vec<String> =
        rows.into_iter().map(|(name, value)| format!("{name:<8} {value}")).collect();
    format!("{}\n\n{jobs}", rows.join("\n"))
}
