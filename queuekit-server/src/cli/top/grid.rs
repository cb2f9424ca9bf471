//! Tables: columns fit their contents, one takes what is left, and the selected row is in view.

use std::fmt::Display;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::look::{bold, chosen, faint};
use super::text::{brief_count, cut, padded};
use crate::cli::format::on_a_line;

/// Columns between two columns.
const GAP: usize = 2;
/// From this width on, columns may be twice as wide.
pub(super) const WIDE: u16 = 110;

pub(super) struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Clone, Copy)]
pub(super) struct Column {
    name: &'static str,
    width: Width,
    is_number: bool,
    /// The narrowest table that has it.
    shown_from: u16,
}

#[derive(Clone, Copy)]
enum Width {
    /// As its contents need, up to this on a narrow screen.
    Fit(usize),
    /// What the others leave.
    Rest,
}

pub(super) struct Cell {
    text: String,
    style: Style,
}

impl Column {
    pub(super) const fn text(name: &'static str, most: usize) -> Self {
        Self { name, width: Width::Fit(most), is_number: false, shown_from: 0 }
    }

    pub(super) const fn number(name: &'static str) -> Self {
        Self { name, width: Width::Fit(9), is_number: true, shown_from: 0 }
    }

    pub(super) const fn rest(name: &'static str) -> Self {
        Self { name, width: Width::Rest, is_number: false, shown_from: 0 }
    }

    /// Only in tables of at least this width.
    pub(super) const fn shown_from(self, width: u16) -> Self {
        Self { shown_from: width, ..self }
    }
}

impl Grid {
    pub(super) fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Draws the names of the columns and the rows; without rows, this text.
    pub(super) fn draw(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        selected: Option<usize>,
        empty: &str,
    ) {
        if area.height == 0 {
            return;
        }
        if self.rows.is_empty() {
            let empty = cut(empty, area.width.into());
            return frame.render_widget(Line::styled(empty, faint()), area);
        }
        let widths = self.widths(area.width);
        let names = self.columns.iter().map(|column| Cell::styled(column.name, bold()));
        let lines = usize::from(area.height) - 1;
        let from = first_shown(self.rows.len(), lines, selected);
        let header = self.line(&names.collect::<Vec<_>>(), &widths);
        let rows = self.rows.iter().enumerate().skip(from).take(lines);
        let rows = rows.map(|(at, row)| {
            let line = self.line(row, &widths);
            if selected == Some(at) { line.patch_style(chosen()) } else { line }
        });
        for (y, line) in (area.y..).zip(std::iter::once(header).chain(rows)) {
            frame.render_widget(line, Rect { y, height: 1, ..area });
        }
    }

    /// The width of each column; none if there is no room for it.
    fn widths(&self, width: u16) -> Vec<Option<usize>> {
        let stretch = if width >= WIDE { 2 } else { 1 };
        let fitting = |(at, column): (usize, &Column)| {
            if column.shown_from > width {
                return None;
            }
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            let widest = cells.map(|cell| cell.text.width()).max().unwrap_or(0);
            let needed = widest.max(column.name.width());
            Some(match column.width {
                Width::Fit(most) => needed.min(most.max(column.name.width()) * stretch),
                Width::Rest => 0,
            })
        };
        let mut widths: Vec<Option<usize>> = self.columns.iter().enumerate().map(fitting).collect();
        let gaps = GAP * widths.iter().flatten().count().saturating_sub(1);
        let left = usize::from(width).saturating_sub(widths.iter().flatten().sum::<usize>() + gaps);
        for (column, width) in self.columns.iter().zip(&mut widths) {
            if matches!(column.width, Width::Rest) {
                *width = Some(left);
            }
        }
        widths
    }

    fn line(&self, cells: &[Cell], widths: &[Option<usize>]) -> Line<'static> {
        let gap = || Span::raw(" ".repeat(GAP));
        let mut spans = Vec::new();
        for ((cell, column), width) in cells.iter().zip(&self.columns).zip(widths) {
            let Some(width) = width else { continue };
            if !spans.is_empty() {
                spans.push(gap());
            }
            spans.push(Span::styled(padded(&cell.text, *width, column.is_number), cell.style));
        }
        Line::from(spans)
    }
}

impl Cell {
    pub(super) fn styled(text: impl Display, style: Style) -> Self {
        Self { text: on_a_line(&text.to_string()), style }
    }

    /// A number, or a dash for none.
    pub(super) fn count(count: queuekit::queues::Count, style: Style) -> Self {
        match count.value {
            0 => Self::styled("-", faint()),
            _ => Self::styled(brief_count(count), style),
        }
    }

    /// The value, or a dash.
    pub(super) fn or_dash(value: Option<impl Display>) -> Self {
        value.map_or_else(|| Self::styled("-", faint()), Self::from)
    }
}

impl<T: Display> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, Style::new())
    }
}

/// The first row to show, so that the selected one is near the middle.
fn first_shown(rows: usize, lines: usize, selected: Option<usize>) -> usize {
    let middle = selected.unwrap_or(0).saturating_sub(lines / 2);
    middle.min(rows.saturating_sub(lines))
}
