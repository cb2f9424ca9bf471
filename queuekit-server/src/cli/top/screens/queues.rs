//! Queues, with the numbers of their jobs.

use queuekit::queues::Queue;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Text, draw_heading};
use crate::cli::format::{on_a_line, span};
use crate::cli::queue::settings_told;
use crate::cli::top::grid::{Cell, Column, Grid};
use crate::cli::top::look::{Look, bold, status_word};
use crate::cli::top::model::Model;
use crate::cli::top::text::{count, seconds};
use crate::ui::attention;
use crate::wire::COUNTED_STATUSES;

/// From this width on, more columns are shown.
const WIDE: u16 = 100;
pub(super) fn draw(model: &Model, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let area = draw_heading(model, frame, area, &model.queues().len().to_string(), "queue");
    let slot = &model.figures.queues;
    let empty = match (&slot.refused, &slot.value) {
        (Some(why), _) => why,
        (None, None) => "",
        (None, Some(_)) if model.list().filter.is_empty() => {
            "no queues yet: the first job creates one"
        }
        (None, Some(_)) => "no queue has this text in its name: esc clears the filter",
    };
    table(model, look, &model.queues()).draw(frame, area, model.selected(), empty);
}

/// A row for each queue.
pub(super) fn table(model: &Model, look: Look, queues: &[&Queue]) -> Grid {
    let mut grid = Grid::new(&[
        Column::rest("QUEUE"),
        Column::number("READY"),
        Column::number("RUNNING"),
        Column::number("FAILED"),
        Column::number("SCHEDULED").shown_from(WIDE),
        Column::number("BLOCKED").shown_from(WIDE),
        Column::number("DEAD"),
        Column::number("COMPLETED").shown_from(WIDE),
        Column::number("DONE/MIN"),
        Column::number("OLDEST"),
        Column::text("HEALTH", 10),
    ]);
    for queue in queues {
        let mut row = vec![Cell::styled(&queue.name, bold())];
        row.extend(
            COUNTED_STATUSES
                .map(|status| Cell::count(queue.counts.get(status), look.status(status))),
        );
        let rate = model.figures.completed_per_minute(&queue.name);
        row.push(Cell::or_dash(rate.map(|rate| format!("{rate:.0}"))));
        row.push(Cell::or_dash(queue.oldest_ready_age.map(seconds)));
        row.push(health(look, queue));
        grid.row(row);
    }
    grid
}

/// Whether it is paused, or else how healthy it is.
fn health(look: Look, queue: &Queue) -> Cell {
    if queue.settings.paused {
        return Cell::styled("‖ paused", look.doubtful());
    }
    let score = queue.health.score;
    match score {
        80.. => Cell::styled(format!("✓ {score}"), look.good()),
        50..80 => Cell::styled(format!("! {score}"), look.health(score)),
        _ => Cell::styled(format!("✗ {score}"), look.health(score)),
    }
}

/// A queue with its numbers, its health and its settings.
pub(super) fn opened(model: &Model, look: Look, name: &str) -> Vec<Text> {
    let plain = |text: String| (text, Style::new());
    let Some(queue) = model.opened_queue() else {
        return vec![plain(format!("queue {name} is not there: esc goes back"))];
    };
    let mut lines = vec![(format!("Queue {name}"), bold())];
    if queue.settings.paused {
        let left = queue.pause_left().map(|left| format!(" for {} more", span(left)));
        let left = left.unwrap_or_default();
        let told = format!("‖ paused{left}: workers reserve none of its jobs; p resumes it");
        lines.push((told, look.doubtful()));
        if let Some(reason) = &queue.settings.pause_reason {
            lines.push((format!("  {}", on_a_line(reason)), look.doubtful()));
        }
    }
    lines.push(plain(String::new()));
    for (status, number) in queue.counts.iter() {
        let style = if number.value == 0 { Style::new() } else { look.status(status) };
        lines.push((format!("{:14}{}", status_word(status), count(number)), style));
    }
    lines.push(plain(String::new()));
    let rate = model.figures.completed_per_minute(&queue.name);
    let rate = rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1} per minute"));
    let oldest = queue.oldest_ready_age.map_or_else(|| "-".to_owned(), seconds);
    let (score, workers) = (queue.health.score, queue.workers);
    for (name, value) in [
        ("workers", workers.to_string()),
        ("completed", rate),
        ("oldest ready", oldest),
        ("health", format!("{score} of 100")),
    ] {
        lines.push(plain(format!("{name:<18}{value}")));
    }
    let reasons = attention::reasons(queue).into_iter();
    lines.extend(reasons.map(|reason| (format!("- {reason}"), look.health(score))));
    lines.push(plain(String::new()));
    lines.extend(settings_told(&queue.settings).lines().map(|line| plain(line.to_owned())));
    lines
}
