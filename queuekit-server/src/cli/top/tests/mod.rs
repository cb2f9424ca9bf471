//! The dashboard without a terminal: keys, rounds and screens over a shop whose clock stands still.

mod actions;
mod attention;
mod hostile;
mod rounds;
mod screens;
mod shop;

use queuekit::Timestamp;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::model::{Event, Model, Request};
use super::screens::draw;

/// The time at which tests look.
fn noon() -> Timestamp {
    let noon: jiff::Timestamp = "2026-11-26T12:00:00Z".parse().unwrap();
    Timestamp::from_millis(noon.as_millisecond())
}

fn seconds_later(seconds: i64) -> Timestamp {
    Timestamp::from_millis(noon().as_millis() + seconds * 1000)
}

fn seconds_ago(seconds: i64) -> Timestamp {
    seconds_later(-seconds)
}

/// Presses each of these characters; a line end is the key Enter, and an escape the key Esc.
fn press(model: &mut Model, keys: &str) -> Vec<Request> {
    let mut requests = Vec::new();
    for letter in keys.chars() {
        let code = match letter {
            '\n' => KeyCode::Enter,
            '\u{1b}' => KeyCode::Esc,
            letter => KeyCode::Char(letter),
        };
        let key = KeyEvent::new(code, KeyModifiers::NONE);
        requests.extend(model.update(Event::Key(key), noon()));
    }
    requests
}

/// The cells of the screen.
fn cells(model: &mut Model, (columns, rows): (u16, u16)) -> Buffer {
    model.size = (columns, rows);
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(model, frame)).unwrap();
    terminal.backend().buffer().clone()
}

/// The text of the screen.
fn shown(model: &mut Model, size: (u16, u16)) -> String {
    let cells = cells(model, size);
    let line = |row: &[ratatui::buffer::Cell]| {
        let (mut line, mut at) = (String::new(), 0);
        while let Some(cell) = row.get(at) {
            line.push_str(cell.symbol());
            at += unicode_width::UnicodeWidthStr::width(cell.symbol()).max(1);
        }
        line.trim_end().to_owned() + "\n"
    };
    cells.content.chunks(size.0.into()).map(line).collect()
}

#[track_caller]
fn assert_shows(model: &mut Model, texts: &[&str]) {
    let shown = shown(model, (80, 24));
    for text in texts {
        assert!(shown.contains(text), "{text:?} is not in\n{shown}");
    }
}
