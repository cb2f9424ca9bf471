//! The figures of queues.

use std::fmt::Write as _;
use std::time::Duration;

use anstyle::AnsiColor;
use anyhow::Result;
use queuekit::{QueueName, Status};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{path, settings};
use crate::cli::api::Api;
use crate::cli::format::{or_dash, span};
use crate::cli::output::Output;
use crate::cli::table::{Cell, Table};
use crate::wire::{HealthBody, QueueBody};

#[derive(Deserialize)]
struct Queues {
    queues: Vec<Box<RawValue>>,
}

/// Statuses that have a column.
const SHOWN: [Status; 7] = [
    Status::Ready,
    Status::Running,
    Status::Failed,
    Status::Scheduled,
    Status::Blocked,
    Status::Dead,
    Status::Completed,
];

/// All queues, as the server answered them.
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
    output.forward(answer.json(), || Ok(answer.read::<QueueBody>()?.told()))
}

/// The same, parsed.
pub(crate) fn rows(queues: &[Box<RawValue>]) -> Result<Vec<QueueBody>> {
    let texts = queues.iter().map(|queue| queue.get());
    Ok(texts.map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// A table with a row for each queue.
pub(crate) fn table(queues: &[QueueBody]) -> Table {
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
    let mut table = Table::new(&names, "no queues yet: the first job creates one");
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

impl QueueBody {
    /// The number of jobs of this status.
    pub(crate) fn value(&self, status: Status) -> u64 {
        self.counts.get(&status).map_or(0, |count| count.value)
    }

    /// The number of all its jobs.
    pub(super) fn jobs(&self) -> u64 {
        self.counts.values().map(|count| count.value).sum()
    }

    fn count(&self, status: Status) -> Cell {
        let Some(count) = self.counts.get(&status).filter(|count| count.value > 0) else {
            return or_dash(None::<u64>);
        };
        let about = if count.exact { "" } else { "~" };
        let text = format!("{about}{}", count.value);
        match status {
            Status::Dead => Cell::styled(text, AnsiColor::Red.on_default()),
            _ => Cell::from(text),
        }
    }

    fn told(&self) -> String {
        let mut told = table(std::slice::from_ref(self)).to_string();
        for reason in &self.health.reasons {
            // Writing to a String cannot fail.
            let _ = write!(told, "\n- {reason}");
        }
        told + "\n\n" + &settings::lines(&self.settings.0)
    }
}

impl HealthBody {
    fn cell(&self) -> Cell {
        let color = match self.score {
            80.. => return Cell::from(self.score),
            50..80 => AnsiColor::Yellow,
            _ => AnsiColor::Red,
        };
        Cell::styled(self.score, color.on_default())
    }
}
