//! What needs attention, how much there is to do, and how it goes.

use queuekit::Status;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Sparkline;

use super::queues;
use crate::cli::top::grid::{Cell, Column, Grid};
use crate::cli::top::look::{Look, bold, faint, status_word, urgency_word};
use crate::cli::top::model::Model;
use crate::cli::top::text::{count, cut, number};

/// Most lines about what needs attention on a small screen.
const CONCERNS: u16 = 5;
/// Statuses in the first line of totals, and in the second.
const TOTALS: [&[Status]; 2] = [
    &[Status::Ready, Status::Running, Status::Failed, Status::Scheduled, Status::Blocked],
    &[Status::Dead, Status::Expired, Status::Cancelled, Status::Completed],
];

pub(super) fn draw(model: &Model, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let spare = area.height.saturating_sub(19);
    let concerns = u16::try_from(model.concerns().len()).unwrap_or(u16::MAX);
    // With a heading, the details of the selected one, and an empty line.
    let lines = concerns.min(CONCERNS + spare / 3) + 3;
    let [attention, totals, chart, queues] = Layout::vertical([
        Constraint::Length(lines),
        Constraint::Length(4),
        Constraint::Length(4 + (spare / 6).min(4)),
        Constraint::Min(0),
    ])
    .areas(area);
    draw_attention(model, look, frame, attention);
    draw_totals(model, look, frame, totals);
    draw_chart(model, look, frame, chart);
    draw_queues(model, look, frame, queues);
}

fn draw_attention(model: &Model, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let [area, _] = Layout::vertical([Constraint::Min(0), Constraint::Length(1)]).areas(area);
    let selected = model.selected();
    let mut grid = Grid::new(&[Column::text("ATTENTION", 9), Column::rest("")]);
    for (at, found) in model.concerns().iter().enumerate() {
        let style = look.urgency(found.urgency);
        let word = Cell::styled(urgency_word(found.urgency), style);
        grid.row([word, Cell::from(&found.sentence)]);
        if selected == Some(at) {
            grid.row([Cell::from(""), Cell::styled(&found.detail, faint())]);
        }
    }
    let slot = &model.figures.queues;
    let empty = match (&slot.refused, &slot.value) {
        (Some(why), _) => why,
        (None, Some(_)) => "✓ nothing needs attention",
        (None, None) => "",
    };
    grid.draw(frame, area, selected, empty);
    if let Some(at) = selected {
        let told = format!("{} of {}", at + 1, model.concerns().len());
        let width = u16::try_from(told.len()).unwrap_or(0).min(area.width);
        let place = Rect { x: area.right() - width, width, height: 1, ..area };
        frame.render_widget(Line::styled(told, faint()), place);
    }
}

fn draw_totals(model: &Model, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let figures = &model.figures;
    let workers = figures.workers();
    let (slots, running) = workers.iter().fold((0, 0), |(slots, running), worker| {
        (slots + u64::from(worker.slots), running + u64::from(worker.running))
    });
    let workers = match (&figures.workers.refused, &figures.workers.value) {
        (Some(_), _) => "workers: not allowed".to_owned(),
        (None, None) => String::new(),
        (None, Some(_)) => format!(
            "workers {} with {} of {} slots in use",
            figures.workers.length(),
            number(running),
            number(slots)
        ),
    };
    let totals = TOTALS.map(|statuses| total_line(model, look, statuses)).into_iter();
    let lines = totals.chain([Line::raw(workers)]);
    for (y, line) in (area.y..area.bottom()).zip(lines) {
        frame.render_widget(line, Rect { y, height: 1, ..area });
    }
}

fn total_line(model: &Model, look: Look, statuses: &[Status]) -> Line<'static> {
    let mut spans = Vec::new();
    for status in statuses {
        let total = model.figures.total(*status);
        let style = if total.value == 0 { faint() } else { look.status(*status) };
        spans.push(Span::styled(format!("{} {}", status_word(*status), count(total)), style));
        spans.push(Span::raw("   "));
    }
    Line::from(spans)
}

fn draw_chart(model: &Model, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let [heading, bars, _] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)])
            .areas(area);
    let history = &model.figures.history;
    let Some(values) = model.figures.completed_by_minute(model.now) else {
        let why = match (&history.refused, &history.value) {
            (Some(why), _) => format!("THROUGHPUT  no history: {why}"),
            (None, Some(_)) => {
                "THROUGHPUT  no history yet: it has a bar for each minute".to_owned()
            }
            (None, None) => String::new(),
        };
        let line = cut(why, area.width.into());
        return frame.render_widget(Line::styled(line, faint()), heading);
    };
    let most = values.iter().max().copied().unwrap_or(0);
    let last = values.last().copied().unwrap_or(0);
    let told = format!(
        "  jobs completed per minute of the last hour: last {}, most {}",
        number(last),
        number(most)
    );
    let heading_line = Line::from(vec![Span::styled("THROUGHPUT", bold()), Span::raw(told)]);
    frame.render_widget(heading_line, heading);
    // Each minute has a column; on a wide screen, as many as fit.
    let columns = (bars.width / 60).max(1);
    let values: Vec<u64> =
        values.iter().flat_map(|value| std::iter::repeat_n(*value, columns.into())).collect();
    let style: Style = look.accent();
    frame.render_widget(Sparkline::default().data(values).max(most.max(1)).style(style), bars);
}

fn draw_queues(model: &Model, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let queues = model.figures.pressing_queues();
    queues::table(model, look, &queues).draw(frame, area, None, empty(model));
}

fn empty(model: &Model) -> &str {
    match model.figures.queues.value {
        Some(_) => "no queues yet: the first job creates one",
        None => "",
    }
}
