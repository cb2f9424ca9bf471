//! `queuekit stats`

use std::collections::BTreeMap;
use std::fmt;
use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use queuekit::Status;
use serde::Serialize;

use super::api::Api;
use super::context::{Access, Context};
use super::exit::Exit;
use super::history::History;
use super::output::Output;
use super::queue;
use super::retry::Retry;
use super::worker;
use crate::wire::WorkerBody;

const BETWEEN: Duration = Duration::from_secs(1);
/// Moves the cursor to the top left, and clears the screen below it.
const REDRAW: &str = "\u{1b}[H\u{1b}[J";

/// Show figures of the whole store: its jobs by status, its queues and its workers
#[derive(Args, Debug)]
pub(crate) struct Stats {
    /// Refresh every second, until Ctrl-C
    #[arg(long, short)]
    watch: bool,
    #[command(flatten)]
    past: History,
}

impl Stats {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let output = context.output;
        if self.past.is_asked() {
            let show = async |api: &Api| self.past.show(api, output).await;
            context.with_api(Access::Existing, show).await?;
            return Ok(Exit::Success);
        }
        let show = async |api: &Api| {
            let mut last = String::new();
            loop {
                let ask = async || told(api, output).await;
                let told = if self.watch { Retry::LONG.ask(ask).await? } else { ask().await? };
                if told != last {
                    let redraw = self.watch && !output.json && std::io::stdout().is_terminal();
                    output.line(format_args!("{}{told}", if redraw { REDRAW } else { "" }))?;
                    last = told;
                }
                if !self.watch {
                    return Ok(());
                }
                tokio::time::sleep(BETWEEN).await;
            }
        };
        context.with_api(Access::Existing, show).await?;
        Ok(Exit::Success)
    }
}

/// The figures of the store.
#[derive(Serialize)]
struct Figures {
    jobs: BTreeMap<&'static str, u64>,
    queues: usize,
    paused: usize,
    workers: usize,
    slots: u64,
    running: u64,
}

async fn told(api: &Api, output: Output) -> Result<String> {
    let queues = queue::rows(&queue::all(api).await?)?;
    let workers = worker::all(api).await?;
    let workers: Vec<WorkerBody> = workers
        .iter()
        .map(|worker| serde_json::from_str(worker.get()))
        .collect::<Result<_, _>>()?;
    let jobs = Status::ALL.iter().map(|status| {
        let name = status.as_str();
        (name, queues.iter().map(|queue| queue::value(queue, *status)).sum())
    });
    let figures = Figures {
        jobs: jobs.collect(),
        queues: queues.len(),
        paused: queues.iter().filter(|queue| queue.settings.paused).count(),
        workers: workers.len(),
        slots: workers.iter().map(|worker| u64::from(worker.slots)).sum(),
        running: workers.iter().map(|worker| u64::from(worker.running)).sum(),
    };
    if output.json {
        return Ok(serde_json::to_string(&figures)?);
    }
    Ok(format!("{figures}\n\n{}", queue::table(&queues)))
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let some = self.jobs.iter().filter(|(_, jobs)| **jobs > 0);
        let jobs: Vec<String> = some.map(|(status, jobs)| format!("{jobs} {status}")).collect();
        let jobs = if jobs.is_empty() { "none".to_owned() } else { jobs.join(", ") };
        let Self { queues, paused, workers, slots, running, .. } = self;
        let paused = if *paused > 0 { format!(", {paused} paused") } else { String::new() };
        writeln!(f, "jobs     {jobs}")?;
        writeln!(f, "queues   {queues}{paused}")?;
        write!(f, "workers  {workers}, {running} of {slots} slots in use")
    }
}
