//! `queuekit bench`

mod figure;
mod measure;
mod verdict;

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::{Result, anyhow};
use clap::Args;
use queuekit::{Client, ErrorKind, QueueName};
use serde::Serialize;

use super::context::Context;
use super::exit::Exit;
use super::output::remark;
use super::shutdown::Signals;
use super::table::{Cell, Table};
use figure::Figure;
use measure::Plan;
use verdict::verdict;

/// Measure how fast jobs are enqueued, run and picked up
///
/// It uses its own queue, bench-.., and removes it at the end, also after Ctrl-C or SIGTERM.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Bench {
    /// Jobs per measurement
    #[arg(long, value_name = "N", default_value = "10000")]
    jobs: NonZeroUsize,
    /// Callers that enqueue at the same time
    #[arg(long, value_name = "N", default_value = "64")]
    callers: NonZeroUsize,
    /// Size of each payload
    #[arg(long, value_name = "BYTES", default_value = "100")]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=1_048_576))]
    payload_bytes: u32,
}

const EXAMPLES: &str = "\
Examples:
  queuekit bench --url postgres://localhost/jobs
  queuekit bench --jobs 100000 --json

The figures hold for this machine, this store and this moment: measure several times before you
compare. SIGKILL leaves the queue behind: remove it with `queuekit queue remove bench-.. --force`.";

/// How often to try to remove the queue while jobs are still running after an interrupt.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Serialize)]
struct Report {
    store: String,
    figures: Vec<Figure>,
    verdict: Vec<String>,
}

impl Bench {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let address = context.address().not_migrating();
        let client = queuekit::connect(address.to_open()?).await?;
        let benched = self.on(&client, &context).await;
        let closed = client.close().await;
        let report = benched?;
        closed?;
        context.output.answer(&report, &report)?;
        Ok(Exit::Success)
    }

    async fn on(self, client: &Client, context: &Context) -> Result<Report> {
        let name = format!("bench-{:016x}", measure::random()?);
        let queue = QueueName::new(name)?;
        let plan = Plan {
            queue: queue.clone(),
            jobs: self.jobs.get(),
            callers: self.callers.get(),
            payload_bytes: self.payload_bytes as usize,
        };
        let mut signals = Signals::listen()?;
        let figures = tokio::select! {
            figures = plan.run(client) => figures,
            () = signals.next() => Err(anyhow!("interrupted")),
        };
        // Also after a failure or an interrupt.
        let removed = remove(client, &queue).await;
        if let (Err(_), Err(error)) = (&figures, &removed) {
            remark(format_args!("{error:#}"));
        }
        let figures = figures?;
        removed?;
        let verdict = verdict(client, &figures).await?;
        Ok(Report { store: context.address().to_string(), figures, verdict })
    }
}

/// Removes the queue until there is none: jobs in progress at an interrupt may still be running or
/// be stored later.
async fn remove(client: &Client, queue: &QueueName) -> Result<()> {
    let Some(admin) = client.backend().capabilities().admin else { return Ok(()) };
    let mut tries = TRIES;
    loop {
        match admin.remove_queue(queue, true).await {
            Ok(false) => return Ok(()),
            Ok(true) => {}
            Err(error) if tries > 0 && *error.kind() == ErrorKind::Conflict => {
                tries -= 1;
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => {
                let remedy = format!("queuekit queue remove {queue} --force");
                return Err(anyhow!(error).context(format!("{queue} is left: run `{remedy}`")));
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table =
            Table::new(&["WHAT", "#JOBS", "#PER SECOND", "#P50 MS", "#P99 MS"], "nothing");
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        for figure in &self.figures {
            table.row([
                Cell::from(figure.name),
                Cell::from(figure.jobs),
                Cell::from(number(figure.per_second)),
                Cell::from(number(figure.p50_ms)),
                Cell::from(number(figure.p99_ms)),
            ]);
        }
        write!(f, "{}\n\n{table}\n", self.store)?;
        self.verdict.iter().try_for_each(|sentence| write!(f, "\n- {sentence}"))
    }
}
