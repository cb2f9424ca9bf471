//! Errors that look alike, in groups, and one of these.

use queuekit::queues::Count;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Text, draw_heading_of};
use crate::cli::format::relative;
use crate::cli::job;
use crate::cli::top::grid::{Cell, Column, Grid, WIDE};
use crate::cli::top::look::{Look, bold, faint};
use crate::cli::top::model::{Model, Opened};
use crate::cli::top::text::{ago, bars, number};
use crate::wire::{MERGED_QUEUES, Time};

/// From this width on, what fails has room beside all numbers.
const WIDEST: u16 = 140;

pub(super) fn draw(model: &Model, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let slot = &model.figures.groups;
    let length = model.groups().len().to_string();
    let of = model.errors_of.as_ref().map(|queue| format!("queue {queue}: "));
    let area = draw_heading_of(model, frame, area, &of.unwrap_or_default(), &length, "error group");
    let mut grid = Grid::new(&[
        Column::text("QUEUE", 15),
        Column::text("KIND", 14),
        Column::text("BY HOUR", 24).shown_from(WIDE),
        Column::number("HOUR"),
        Column::number("24H"),
        Column::number("7D").shown_from(WIDEST),
        Column::number("FAILURES").shown_from(WIDEST),
        Column::number("DIED"),
        Column::text("LAST", 11),
        Column::rest("ERROR"),
    ]);
    for group in model.groups() {
        let died = if group.deaths > 0 { look.bad() } else { Style::new() };
        grid.row([
            Cell::from(&group.queue),
            Cell::styled(&group.kind, bold()),
            Cell::styled(bars(&group.recent.hours), look.accent()),
            counted(group.recent.in_hour(), Style::new()),
            counted(group.recent.in_24_hours(), Style::new()),
            counted(group.recent.in_7_days(), Style::new()),
            counted(group.failures, Style::new()),
            counted(group.deaths, died),
            Cell::from(ago(group.last.0, model.now)),
            Cell::from(&group.signature),
        ]);
    }
    let are_many = model.errors_of.is_none() && model.figures.queues().len() > MERGED_QUEUES;
    let empty = match (&slot.refused, &slot.value) {
        (Some(_), _) if are_many => {
            "too many queues for one list: press 2, select one, and press e"
        }
        (Some(why), _) => why,
        (None, None) => "",
        (None, Some(_)) if model.list().filter.is_empty() && model.errors_of.is_some() => {
            "✓ no errors in this queue: esc lists those of all"
        }
        (None, Some(_)) if model.list().filter.is_empty() => "✓ no errors",
        (None, Some(_)) => "no error group has this text: esc clears the filter",
    };
    grid.draw(frame, area, model.selected(), empty);
}

/// A number of errors or jobs, which is exact.
fn counted(value: u64, style: Style) -> Cell {
    Cell::count(Count::exact(value), style)
}

/// A group, with the job that it was last added to for.
pub(super) fn opened(model: &Model, opened: &Opened, id: &str, queue: &str) -> Vec<Text> {
    let plain = |text: String| (text, Style::new());
    let mut lines = vec![(format!("Error group {id} in queue {queue}"), bold())];
    let Some(group) = model.opened_group() else {
        lines.push(plain("it is not among the latest groups: esc goes back".to_owned()));
        return lines;
    };
    lines.push(plain(group.signature.clone()));
    lines.push(plain(String::new()));
    let time = |at: Time| format!("{at:.3}, {}", relative(at, model.now));
    for (name, value) in [
        ("kind", group.kind.clone()),
        ("this hour", number(group.recent.in_hour())),
        ("24 hours", number(group.recent.in_24_hours())),
        ("7 days", number(group.recent.in_7_days())),
        ("by hour", format!("{}  the current one last", bars(&group.recent.hours))),
        ("failures", number(group.failures)),
        ("jobs that died", number(group.deaths)),
        ("first", time(group.first)),
        ("last", time(group.last)),
    ] {
        lines.push(plain(format!("{name:<16}{value}")));
    }
    lines.push(plain(String::new()));
    lines.push(("Its latest job".to_owned(), bold()));
    match (&opened.job, &opened.missing) {
        (_, Some(why)) => lines.push(plain(why.clone())),
        (Some(job), None) => {
            lines.extend(job::told(job, model.now).lines().map(|line| plain(line.to_owned())));
        }
        (None, None) => lines.push(("…".to_owned(), faint())),
    }
    lines
}
