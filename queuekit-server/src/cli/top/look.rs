//! How states look: by a symbol and a word, and also by colour. The colours are those of the
//! terminal, so that they suit light and dark ones.

use queuekit::Status;
use ratatui::style::{Color, Modifier, Style};

use crate::ui::attention::Urgency;

/// Whether there are colours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) colours: bool,
}

impl Look {
    pub(super) fn bad(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(super) fn doubtful(self) -> Style {
        self.coloured(Color::Yellow)
    }

    pub(super) fn good(self) -> Style {
        self.coloured(Color::Green)
    }

    pub(super) fn accent(self) -> Style {
        self.coloured(Color::Cyan)
    }

    pub(super) fn status(self, status: Status) -> Style {
        match status {
            Status::Dead => self.bad(),
            Status::Failed | Status::Expired => self.doubtful(),
            Status::Running => self.accent(),
            Status::Completed => self.good(),
            _ => Style::new(),
        }
    }

    pub(super) fn urgency(self, urgency: Urgency) -> Style {
        match urgency {
            Urgency::Error => self.bad(),
            Urgency::Warning => self.doubtful(),
            Urgency::Info => Style::new(),
        }
    }

    /// A health from 0 to 100.
    pub(super) fn health(self, score: u8) -> Style {
        match score {
            80.. => Style::new(),
            50..80 => self.doubtful(),
            _ => self.bad(),
        }
    }

    fn coloured(self, color: Color) -> Style {
        if self.colours { Style::new().fg(color) } else { Style::new() }
    }
}

pub(super) fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

pub(super) fn faint() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// The selected row.
pub(super) fn chosen() -> Style {
    Style::new().add_modifier(Modifier::REVERSED)
}

/// A status as a symbol and a word. Each symbol takes one column in every terminal.
pub(super) fn status_word(status: Status) -> String {
    let symbol = match status {
        Status::Ready => '○',
        Status::Running => '►',
        Status::Failed => '↻',
        Status::Scheduled => '◔',
        Status::Blocked => '‖',
        Status::Expired => '?',
        Status::Dead => '✗',
        Status::Cancelled => '−',
        Status::Completed => '✓',
    };
    format!("{symbol} {status}")
}

pub(super) fn urgency_word(urgency: Urgency) -> &'static str {
    match urgency {
        Urgency::Error => "✗ error",
        Urgency::Warning => "! warning",
        Urgency::Info => "· info",
    }
}
