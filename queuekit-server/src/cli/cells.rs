//! Cells that several tables have.

use anstyle::{AnsiColor, Style};
use queuekit::Status;

use super::table::Cell;

/// A status in its colour.
pub(crate) fn status(status: Status) -> Cell {
    let color = match status {
        Status::Dead => AnsiColor::Red,
        Status::Failed | Status::Expired => AnsiColor::Yellow,
        Status::Running => AnsiColor::Cyan,
        Status::Completed => AnsiColor::Green,
        Status::Ready => AnsiColor::Blue,
        _ => return Cell::from(status),
    };
    Cell::styled(status, color.on_default())
}

/// The value, or a dash.
pub(crate) fn or_dash(text: Option<impl std::fmt::Display>) -> Cell {
    text.map_or_else(|| Cell::styled('-', faint()), Cell::from)
}

/// Dimmed text.
pub(crate) fn faint() -> Style {
    Style::new().dimmed()
}
