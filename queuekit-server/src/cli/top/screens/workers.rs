//! Workers, what they may run and what they run.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Text, draw_heading};
use crate::cli::top::grid::{Cell, Column, Grid};
use crate::cli::top::look::{Look, bold};
use crate::cli::top::model::Model;
use crate::cli::top::text::{ago, seconds};
use crate::ui::attention::is_silent;
use crate::wire::WorkerBody;

pub(super) fn draw(model: &Model, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let slot = &model.figures.workers;
    let area = draw_heading(model, frame, area, &model.workers().len().to_string(), "worker");
    let mut grid = Grid::new(&[
        Column::text("WORKER", 20),
        Column::text("BUSY", 12),
        Column::number("RUNNING"),
        Column::number("SLOTS"),
        Column::text("SEEN", 14),
        Column::text("ORDER", 10),
        Column::rest("QUEUES"),
    ]);
    for worker in model.workers() {
        let silent = is_silent(age(worker), Duration::from_millis(worker.quiet_ms));
        let seen = if silent { look.bad() } else { Style::new() };
        let mark = if silent { "✗" } else { "✓" };
        grid.row([
            Cell::styled(&worker.id, bold()),
            Cell::styled(bar(worker), look.accent()),
            Cell::from(worker.running),
            Cell::from(worker.slots),
            Cell::styled(format_args!("{mark} {} ago", seconds(age(worker))), seen),
            Cell::or_dash(order(worker)),
            Cell::from(worker.queues.join(",")),
        ]);
    }
    let empty = match (&slot.refused, &slot.value) {
        (Some(why), _) => why,
        (None, None) => "",
        (None, Some(_)) if model.list().filter.is_empty() => {
            "no workers: `queuekit work` starts one"
        }
        (None, Some(_)) => "no worker has this text: esc clears the filter",
    };
    grid.draw(frame, area, model.selected(), empty);
}

/// Time since the last beat.
fn age(worker: &WorkerBody) -> Duration {
    Duration::from_millis(worker.age_ms)
}

/// How many of its slots are in use, as a bar of ten.
fn bar(worker: &WorkerBody) -> String {
    let tenths = u64::from(worker.running) * 10;
    let full = tenths.div_ceil(u64::from(worker.slots.max(1))).min(10);
    let full = usize::try_from(full).unwrap_or(10);
    format!("{}{}", "█".repeat(full), "░".repeat(10 - full))
}

/// An order that it has not obeyed yet.
fn order(worker: &WorkerBody) -> Option<String> {
    let orders = worker.orders.as_ref()?;
    let slots = orders.slots.map(|slots| format!("{slots} slots"));
    let parts: Vec<String> = orders.mode.clone().into_iter().chain(slots).collect();
    Some(parts.join(", "))
}

/// A worker with the jobs that it runs.
pub(super) fn opened(model: &Model, id: &str) -> Vec<Text> {
    let plain = |text: String| (text, Style::new());
    let mut lines = vec![(format!("Worker {id}"), bold())];
    let Some(worker) = model.opened_worker() else {
        lines.push(plain("it is no longer listed: esc goes back".to_owned()));
        return lines;
    };
    lines.push(plain(String::new()));
    let or_dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
    let more = |more: bool| if more { ",.." } else { "" };
    let started = worker.started_at.map(|at| ago(at.0, model.now)).unwrap_or_default();
    for (name, value) in [
        ("name", worker.name.clone()),
        ("host", worker.host.clone()),
        ("process", worker.pid.map(|pid| pid.to_string()).unwrap_or_default()),
        ("version", worker.version.clone()),
        ("started", started),
        ("seen", format!("{} ago", seconds(age(worker)))),
        ("queues", worker.queues.join(",") + more(worker.more_queues)),
        ("kinds", worker.kinds.join(",") + more(worker.more_kinds)),
        ("running", format!("{} of {} slots", worker.running, worker.slots)),
        ("order", order(worker).unwrap_or_default()),
    ] {
        lines.push(plain(format!("{name:<10}{}", or_dash(value))));
    }
    lines.push(plain(String::new()));
    lines.push(("Running jobs".to_owned(), bold()));
    if worker.jobs.is_empty() {
        lines.push(plain("it names none".to_owned()));
    }
    for job in &worker.jobs {
        let since = ago(job.since.0, model.now);
        lines.push(plain(format!("{}  {}  began {since}", job.id, job.kind)));
    }
    lines
}
