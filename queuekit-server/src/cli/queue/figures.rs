//! The figures of queues.

use std::fmt::Write as _;

use anstyle::AnsiColor;
use anyhow::Result;
use queuekit::queues::{Health, Queue};
use queuekit::{QueueName, Status};
use serde_json::value::RawValue;

use super::route::path;
use super::settings;
use crate::cli::api::Api;
use crate::cli::cells::or_dash;
use crate::cli::format::{on_a_line, span};
use crate::cli::output::Output;
use crate::cli::table::{Cell, Table};
use crate::wire::COUNTED_STATUSES;

/// All queues, as the server answered them.
pub(crate) async fn all(api: &Api) -> Result<Vec<Box<RawValue>>> {
    api.all("/v1/queues?limit=1000", "queues").await
}

/// Shows all queues.
pub(crate) async fn list(api: &Api, output: Output) -> Result<()> {
    let queues = all(api).await?;
    output.list(&queues, table(&rows(&queues)?))
}

pub(super) async fn show(api: &Api, name: &QueueName, output: Output) -> Result<()> {
    let answer = api.get(&path(name)).await?;
    output.forward(answer.json(), || Ok(told(&answer.read()?)))
}

/// The same, parsed.
pub(crate) fn rows(queues: &[Box<RawValue>]) -> Result<Vec<Queue>> {
    let texts = queues.iter().map(|queue| queue.get());
    Ok(texts.map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// A table with a row for each queue.
pub(crate) fn table(queues: &[Queue]) -> Table {
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
        let counts = COUNTED_STATUSES.map(|status| count(queue, status));
        let oldest = queue.oldest_ready_age.map(span);
        let mut row = vec![Cell::from(&queue.name)];
        row.extend(counts);
        row.extend([
            or_dash(oldest),
            Cell::from(queue.workers),
            health(&queue.health),
            match paused(queue) {
                Some(paused) => Cell::styled(paused, AnsiColor::Yellow.on_default()),
                None => Cell::from(""),
            },
        ]);
        table.row(row);
    }
    table
}

/// The number of jobs of this status.
pub(crate) fn value(queue: &Queue, status: Status) -> u64 {
    queue.counts.get(status).value
}

/// The number of all jobs.
pub(super) fn all_jobs(queue: &Queue) -> u64 {
    queue.counts.iter().map(|(_, count)| count.value).sum()
}

fn count(queue: &Queue, status: Status) -> Cell {
    let count = queue.counts.get(status);
    if count.value == 0 {
        return or_dash(None::<u64>);
    }
    let about = if count.exact { "" } else { "~" };
    let text = format!("{about}{}", count.value);
    match status {
        Status::Dead => Cell::styled(text, AnsiColor::Red.on_default()),
        _ => Cell::from(text),
    }
}

fn told(queue: &Queue) -> String {
    let mut told = table(std::slice::from_ref(queue)).to_string();
    if let Some(reason) = &queue.settings.pause_reason {
        // Writing to a String cannot fail.
        let _ = write!(told, "\n- paused: {}", on_a_line(reason));
    }
    for reason in &queue.health.reasons {
        let _ = write!(told, "\n- {reason}");
    }
    told + "\n\n" + &settings::lines(&queue.settings)
}

/// `paused`, or `paused, 25m left`; none if it is not.
fn paused(queue: &Queue) -> Option<String> {
    let left = queue.pause_left().map(|left| format!(", {} left", span(left)));
    queue.settings.paused.then(|| format!("paused{}", left.unwrap_or_default()))
}

fn health(health: &Health) -> Cell {
    let color = match health.score {
        80.. => return Cell::from(health.score),
        50..80 => AnsiColor::Yellow,
        _ => AnsiColor::Red,
    };
    Cell::styled(health.score, color.on_default())
}
