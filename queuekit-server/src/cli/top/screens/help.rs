//! Keys: those of the present screen in the last line, and all of them as a page.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

use crate::cli::top::look::bold;
use crate::cli::top::model::{Mode, Model, Opening, Tab};
use crate::cli::top::remedy::label;

/// All keys. Actions in lower case are harmless or can be undone; those in upper case cannot.
const KEYS: [(&str, &str); 18] = [
    ("1-5, tab", "open a tab"),
    ("j k, arrows", "move, or scroll"),
    ("g G", "go to the first and to the last row"),
    ("enter", "open the selected row; of a queue or an error, then list its jobs"),
    ("esc", "go back, or clear the filter"),
    ("/", "edit the filter: terms of `queuekit job list` in Jobs, else a text"),
    ("space", "pause and resume the refresh"),
    ("q, ctrl-c", "quit"),
    ("", "Actions ask before they change anything."),
    ("a", "Overview: do what the row offers: resume, retry all, run now, enable"),
    ("p", "Queues: pause or resume the queue"),
    ("e", "Queues: list the errors of the queue alone"),
    ("D", "Queues: delete all its jobs, except running ones"),
    ("r n c D", "Jobs: retry, run now, cancel, delete the job"),
    ("R D", "Errors: retry, delete all dead jobs of the error in its queue"),
    ("p r", "Workers: reserve no more jobs, reserve jobs again"),
    ("s", "Workers: limit how many jobs the worker runs at once"),
    ("S", "Workers: stop the worker once its jobs have ended"),
];

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect) {
    frame.render_widget(Clear, area);
    for (y, (key, does)) in (area.y..area.bottom()).zip(KEYS) {
        let line = Line::from(vec![Span::styled(format!("{key:<14}"), bold()), Span::raw(does)]);
        frame.render_widget(line, Rect { y, height: 1, ..area });
    }
}

/// The keys of the present screen.
pub(super) fn keys(model: &Model) -> String {
    let own = match (&model.mode, &model.opened, model.tab) {
        (Mode::Help, ..) => return "any key: back".to_owned(),
        (Mode::Filter { .. }, _, Tab::Jobs) => {
            return "enter: apply  esc: leave  such as status:dead kind:email older:1h".to_owned();
        }
        (Mode::Filter { .. }, ..) => return "enter: apply  esc: leave".to_owned(),
        (Mode::Slots { .. }, ..) => {
            return "type how many jobs it may run at once  enter: ask  esc: leave".to_owned();
        }
        (Mode::Counting(_) | Mode::Confirm(_), ..) => return String::new(),
        (Mode::Browse, Some(opened), _) => match opened.what {
            Opening::Queue(_) => "esc back  enter jobs  e errors  p pause/resume  D delete jobs",
            Opening::Job(_) => "esc back  r retry  n run now  c cancel  D delete",
            Opening::Group { .. } => "esc back  enter dead jobs  R retry all  D delete all",
            Opening::Worker(_) => "esc back  p quiet  r resume  s slots  S stop",
        },
        (Mode::Browse, None, Tab::Overview) => return overview_keys(model),
        (Mode::Browse, None, Tab::Queues) => {
            "enter open  e errors  p pause/resume  D delete jobs  / filter"
        }
        (Mode::Browse, None, Tab::Jobs) => {
            "enter open  r retry  n run now  c cancel  D delete  / filter"
        }
        (Mode::Browse, None, Tab::Errors) => "enter open  R retry all  D delete all  / filter",
        (Mode::Browse, None, Tab::Workers) => {
            "enter open  p quiet  r resume  s slots  S stop  / filter"
        }
    };
    format!("{own}  ? help  q quit")
}

fn overview_keys(model: &Model) -> String {
    match model.selected_concern().and_then(|found| found.remedy) {
        Some(remedy) => format!("enter open  a {}  ? help  q quit", label(&remedy)),
        None => "enter open  ? help  q quit".to_owned(),
    }
}
