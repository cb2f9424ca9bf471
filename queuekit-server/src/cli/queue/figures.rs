//! The figures of queues.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use anstyle::AnsiColor;
use anyhow::Result;
use queuekit::{QueueName, QueueSettings};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{path, settings};
use crate::cli::api::Api;
use crate::cli::output::Output;
use crate::cli::shown::{or_dash, span};
use crate::cli::table::{Cell, Table};

/// What is shown of a queue.
#[derive(Deserialize)]
pub(crate) struct QueueView {
    pub(crate) name: String,
    pub(crate) paused: bool,
    counts: BTreeMap<String, Count>,
    oldest_ready_age_ms: Option<u64>,
    health: Health,
    pub(crate) workers: u64,
    pub(super) settings: QueueSettings,
}

#[derive(Deserialize)]
struct Count {
    value: u64,
    exact: bool,
}

#[derive(Deserialize)]
struct Health {
    score: u8,
    reasons: Vec<String>,
}

#[derive(Deserialize)]
struct Queues {
    queues: Vec<Box<RawValue>>,
}

/// The statuses that have a column.
const SHOWN: [&str; 7] =
    ["ready", "running", "failed", "scheduled", "blocked", "dead", "completed"];

/// All queues, as they came.
pub(crate) async fn all(api: &Api) -> Result<Vec<Box<RawValue>>> {
    Ok(api.get("/v1/queues").await?.read::<Queues>()?.queues)
}

/// Shows all queues.
pub(crate) async fn list(api: &Api, output: Output) -> Result<()> {
    let queues = all(api).await?;
    output.list(&queues, table(&rows(&queues)?))
}

pub(super) async fn show(api: &Api, name: &QueueName, output: Output) -> Result<()> {
    let answer = api.get(&path(name)).await?;
    output.forward(answer.json(), || Ok(answer.read::<QueueView>()?.told()))
}

/// The same, read.
pub(crate) fn rows(queues: &[Box<RawValue>]) -> Result<Vec<QueueView>> {
    let texts = queues.iter().map(|queue| queue.get());
    Ok(texts.map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// A row for each.
pub(crate) fn table(queues: &[QueueView]) -> Table {
    let names = [
        "QUEUE",
        "#READY",
        "#RUNNING",
        "#FAILED",
        "#SCHEDULED",
        "#BLOCKED",
        "#DEAD",
        "#COMPLETED",
        "OLDEST",
        "#WORKERS",
        "#HEALTH",
        "",
    ];
    let mut table = Table::new(&names, "there are no queues yet: the first job makes one");
    for queue in queues {
        let counts = SHOWN.map(|status| queue.count(status));
        let oldest = queue.oldest_ready_age_ms.map(Duration::from_millis).map(span);
        let mut row = vec![Cell::from(&queue.name)];
        row.extend(counts);
        row.extend([
            or_dash(oldest),
            Cell::from(queue.workers),
            queue.health.cell(),
            if queue.paused {
                Cell::styled("paused", AnsiColor::Yellow.on_default())
            } else {
                Cell::from("")
            },
        ]);
        table.row(row);
    }
    table
}

impl QueueView {
    /// The number of jobs of this status.
    pub(crate) fn value(&self, status: &str) -> u64 {
        self.counts.get(status).map_or(0, |count| count.value)
    }

    /// The number of all its jobs.
    pub(super) fn jobs(&self) -> u64 {
        self.counts.values().map(|count| count.value).sum()
    }

    fn count(&self, status: &str) -> Cell {
        let Some(count) = self.counts.get(status).filter(|count| count.value > 0) else {
            return or_dash(None::<u64>);
        };
        let about = if count.exact { "" } else { "~" };
        let text = format!("{about}{}", count.value);
        match status {
            "dead" => Cell::styled(text, AnsiColor::Red.on_default()),
            _ => Cell::from(text),
        }
    }

    fn told(&self) -> String {
        let mut told = table(std::slice::from_ref(self)).to_string();
        for reason in &self.health.reasons {
            // A text takes whatever is written to it.
            let _ = write!(told, "\n- {reason}");
        }
        told + "\n\n" + &settings::lines(&self.settings)
    }
}

impl Health {
    fn cell(&self) -> Cell {
        let color = match self.score {
            80.. => return Cell::from(self.score),
            50..80 => AnsiColor::Yellow,
            _ => AnsiColor::Red,
        };
        Cell::styled(self.score, color.on_default())
    }
}
