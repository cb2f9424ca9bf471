//! What is on the screen: a function of the model. Each tab has a file.

mod dialog;
mod errors;
mod help;
mod jobs;
mod overview;
mod queues;
mod workers;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::look::{Look, bold, chosen, faint};
use super::model::{Mode, Model, Opening, Tab};
use super::text::{cut, seconds, wrapped};
use crate::cli::format::span;

/// The smallest terminal.
const SMALLEST: (u16, u16) = (80, 24);
/// Lines above what a tab shows.
const ABOVE: u16 = 3;
/// Most lines of a message.
const SAID: usize = 3;

/// A line of what is opened, which is broken where it is too long.
type Text = (String, Style);

pub(super) fn draw(model: &Model, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        return too_small(frame, area);
    }
    let said = said(model, area.width);
    let [title, tabs, banner, body, bottom] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(below(&said)),
    ])
    .areas(area);
    draw_title(model, frame, title);
    draw_tabs(model, frame, tabs);
    draw_banner(model, frame, banner);
    match opened(model) {
        Some(lines) => draw_opened(model, frame, banner, body, &lines),
        None => draw_tab(model, frame, body),
    }
    if model.is_stale() {
        let grey = Style::reset().patch(faint());
        frame.buffer_mut().set_style(body, grey);
    }
    draw_bottom(model, said, frame, bottom);
    match &model.mode {
        Mode::Help => help::draw(frame, body),
        Mode::Counting(act) => dialog::counting(act, frame, area),
        Mode::Confirm(confirm) => dialog::confirm(confirm, look(model), frame, area),
        Mode::Browse | Mode::Filter { .. } | Mode::Slots { .. } => {}
    }
}

/// How far what is opened can be scrolled.
pub(super) fn last_scroll(model: &Model) -> usize {
    let (columns, rows) = model.size;
    let lines = opened(model).map_or(0, |lines| broken(&lines, columns).len());
    let around = ABOVE + below(&said(model, columns));
    lines.saturating_sub(rows.saturating_sub(around).into())
}

fn look(model: &Model) -> Look {
    Look { colours: model.colours }
}

fn too_small(frame: &mut Frame<'_>, area: Rect) {
    let told = format!(
        "queuekit top needs {} columns and {} rows; this terminal has {} and {}. Enlarge it, or \
         press q and use `queuekit stats`.",
        SMALLEST.0, SMALLEST.1, area.width, area.height
    );
    for (y, line) in (area.y..area.bottom()).zip(wrapped(&told, area.width.into())) {
        frame.render_widget(Line::raw(line), Rect { y, height: 1, ..area });
    }
}

/// The program, the store, and whether the figures are fresh.
fn draw_title(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let (state, style) = state(model);
    let width = usize::from(area.width).saturating_sub(state.chars().count() + 15);
    let place = cut(&model.place, width);
    let left =
        Line::from(vec![Span::styled("queuekit top", bold()), Span::raw("  "), place.into()]);
    frame.render_widget(left, area);
    frame.render_widget(Line::styled(state, style).right_aligned(), area);
}

fn state(model: &Model) -> (String, Style) {
    let look = look(model);
    let (link, every) = (&model.link, span(model.every));
    if model.is_paused {
        return ("‖ paused".to_owned(), look.doubtful().patch(bold()));
    }
    if link.error.is_some() {
        return ("✗ no answer".to_owned(), look.bad());
    }
    if let Some(waited) = model.waits() {
        return (format!("… waiting for {}", seconds(waited)), look.doubtful());
    }
    match link.answered {
        None => ("… connecting".to_owned(), look.doubtful()),
        Some(_) => (format!("● live, every {every}"), look.good()),
    }
}

fn draw_tabs(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let mut spans = Vec::new();
    for (number, tab) in (1..).zip(Tab::ALL) {
        let style = if tab == model.tab { chosen() } else { Style::new() };
        spans.push(Span::styled(format!(" {number} {} ", tab.title()), style));
        spans.push(Span::raw(" "));
    }
    frame.render_widget(Line::from(spans), area);
}

/// Why the figures are old, and how old. They stay until there are newer ones.
fn draw_banner(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let age = model.link.answered.map(|answered| model.now.since(answered));
    let age = age.map(seconds);
    let style = look(model).doubtful().patch(bold());
    let told = match (&model.link.error, age) {
        (Some(error), Some(age)) => format!("! figures are {age} old: {error}"),
        (Some(error), None) => format!("! {error}"),
        (None, Some(age)) if model.is_paused => {
            format!("‖ paused, figures are {age} old: press space to resume")
        }
        (None, _) if model.is_paused => "‖ paused: press space to resume".to_owned(),
        (None, Some(age)) if model.waits().is_some() => {
            format!("! figures are {age} old: the answer takes its time")
        }
        _ => return,
    };
    frame.render_widget(Line::styled(cut(told, area.width.into()), style), area);
}

fn draw_tab(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    match model.tab {
        Tab::Overview => overview::draw(model, look(model), frame, area),
        Tab::Queues => queues::draw(model, look(model), frame, area),
        Tab::Jobs => jobs::draw(model, look(model), frame, area),
        Tab::Errors => errors::draw(model, look(model), frame, area),
        Tab::Workers => workers::draw(model, look(model), frame, area),
    }
}

/// What is opened, line by line; none if a list is shown.
fn opened(model: &Model) -> Option<Vec<Text>> {
    let opened = model.opened.as_ref()?;
    Some(match &opened.what {
        Opening::Queue(name) => queues::opened(model, look(model), name),
        Opening::Job(id) => jobs::opened(model, look(model), opened, *id),
        Opening::Group { id, queue } => errors::opened(model, opened, id, queue),
        Opening::Worker(id) => workers::opened(model, id),
    })
}

fn draw_opened(model: &Model, frame: &mut Frame<'_>, banner: Rect, area: Rect, lines: &[Text]) {
    let lines = broken(lines, area.width);
    let (all, fit) = (lines.len(), usize::from(area.height));
    let scroll =
        model.opened.as_ref().map_or(0, |opened| opened.scroll.min(all.saturating_sub(fit)));
    if all > fit && !model.is_stale() && !model.is_paused {
        let told = format!("lines {}-{} of {all}, j and k scroll", scroll + 1, scroll + fit);
        frame.render_widget(Line::styled(told, faint()).right_aligned(), banner);
    }
    let shown = lines.into_iter().skip(scroll);
    for (y, (line, style)) in (area.y..area.bottom()).zip(shown) {
        frame.render_widget(Line::styled(line, style), Rect { y, height: 1, ..area });
    }
}

fn broken(lines: &[Text], width: u16) -> Vec<Text> {
    let broken = |(line, style): &Text| {
        let style = *style;
        wrapped(line, width.into()).into_iter().map(move |line| (line, style))
    };
    lines.iter().flat_map(broken).collect()
}

/// The heading of a list: its name, how many rows it has, its filter.
fn draw_heading(
    model: &Model,
    frame: &mut Frame<'_>,
    area: Rect,
    length: &str,
    noun: &str,
) -> Rect {
    draw_heading_of(model, frame, area, "", length, noun)
}

/// The same, after what it is a list of.
fn draw_heading_of(
    model: &Model,
    frame: &mut Frame<'_>,
    area: Rect,
    of: &str,
    length: &str,
    noun: &str,
) -> Rect {
    let [heading, rest] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    let at = model.selected().map_or(0, |at| at + 1);
    let filter = &model.list().filter;
    let plural = if length == "1" { "" } else { "s" };
    let filter = if filter.is_empty() { String::new() } else { format!("   filter: {filter}") };
    let line = cut(format!("{of}{at} of {length} {noun}{plural}{filter}"), heading.width.into());
    frame.render_widget(Line::styled(line, faint()), heading);
    rest
}

/// The filter that is edited, or how the last action ended.
fn said(model: &Model, width: u16) -> Vec<Text> {
    let look = look(model);
    let message = |text: &str, style| {
        let lines = wrapped(text, width.into()).into_iter().take(SAID);
        lines.map(|line| (line, style)).collect::<Vec<Text>>()
    };
    match (&model.mode, &model.notice, &model.doing) {
        (Mode::Filter { text, error }, ..) => {
            let mut lines =
                error.as_ref().map_or_else(Vec::new, |error| message(error, look.bad()));
            lines.push((format!("filter: {}█", tail(text, width.into())), bold()));
            lines
        }
        (Mode::Slots { worker, text, error }, ..) => {
            let mut lines =
                error.as_ref().map_or_else(Vec::new, |error| message(error, look.bad()));
            lines.push((cut(format!("slots of {worker}: {text}█"), width.into()), bold()));
            lines
        }
        (_, Some(notice), _) if notice.is_error => message(&notice.text, look.doubtful()),
        (_, Some(notice), _) => message(&notice.text, look.good()),
        (_, None, Some(doing)) => message(&format!("… {doing}"), look.accent()),
        (_, None, None) => message("", Style::new()),
    }
}

/// Lines below what a tab shows: what is said, and the keys.
fn below(said: &[Text]) -> u16 {
    u16::try_from(said.len()).unwrap_or(u16::MAX).saturating_add(1)
}

fn draw_bottom(model: &Model, said: Vec<Text>, frame: &mut Frame<'_>, area: Rect) {
    let keys = (help::keys(model), faint());
    for (y, (text, style)) in (area.y..area.bottom()).zip(said.into_iter().chain([keys])) {
        let line = Line::styled(cut(text, area.width.into()), style);
        frame.render_widget(line, Rect { y, height: 1, ..area });
    }
}

/// The end of a text that is edited, where the cursor is.
fn tail(text: &str, width: usize) -> String {
    let most = width.saturating_sub(12);
    let skipped = text.chars().count().saturating_sub(most);
    text.chars().skip(skipped).collect()
}
