//! The question before an action. It names what is changed, and how many.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear};

use crate::cli::top::act::{BulkAct, Confirm, Needs};
use crate::cli::top::look::{Look, bold, faint};
use crate::cli::top::text::{cut, wrapped};

/// Columns of a dialog.
const WIDTH: u16 = 72;

pub(super) fn counting(act: &BulkAct, frame: &mut Frame<'_>, area: Rect) {
    let lines = vec![
        (act.title(), bold()),
        ("Counting the jobs …".to_owned(), Style::new()),
        (String::new(), Style::new()),
        ("esc gives up".to_owned(), faint()),
    ];
    draw(lines, frame, area);
}

pub(super) fn confirm(confirm: &Confirm, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let mut lines = vec![
        (confirm.question.clone(), look.doubtful().patch(bold())),
        (confirm.consequence.to_owned(), Style::new()),
        (String::new(), Style::new()),
    ];
    match &confirm.needs {
        Needs::Yes => lines.push(("y: yes   n, esc: no".to_owned(), faint())),
        Needs::Number { number, typed } => {
            let told = format!("Type {number}, the number of jobs, and press enter: {typed}█");
            lines.push((told, Style::new()));
            lines.push(("esc: no".to_owned(), faint()));
        }
    }
    draw(lines, frame, area);
}

fn draw(lines: Vec<(String, Style)>, frame: &mut Frame<'_>, area: Rect) {
    let inner = usize::from(WIDTH) - 4;
    let broken = |(line, style): (String, Style)| {
        wrapped(&line, inner).into_iter().map(move |line| (line, style))
    };
    let lines: Vec<(String, Style)> = lines.into_iter().flat_map(broken).collect();
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let height = height.min(area.height);
    let dialog = Rect {
        x: area.x + (area.width - WIDTH) / 2,
        y: area.y + (area.height - height) / 2,
        width: WIDTH,
        height,
    };
    frame.render_widget(Clear, dialog);
    frame.render_widget(Block::bordered(), dialog);
    let rows = dialog.y + 1..dialog.bottom() - 1;
    for (y, (line, style)) in rows.zip(lines) {
        let row = Rect { x: dialog.x + 2, y, width: WIDTH - 4, height: 1 };
        frame.render_widget(Line::styled(cut(line, inner), style), row);
    }
}
