//! Jobs that match a filter, and all about one of them.

use queuekit::{Job, JobId, Status};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Text, draw_heading};
use crate::cli::job;
use crate::cli::top::grid::{Cell, Column, Grid};
use crate::cli::top::look::{Look, bold, faint, status_word};
use crate::cli::top::model::{Model, Opened};
use crate::cli::top::text::ago;

pub(super) fn draw(model: &Model, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let slot = &model.figures.jobs;
    let area = draw_heading(model, frame, area, &slot.length(), "job");
    let mut grid = Grid::new(&[
        Column::text("STATUS", 11),
        Column::text("KIND", 18),
        Column::text("QUEUE", 15),
        Column::number("ATTEMPTS"),
        Column::text("ENQUEUED", 11),
        Column::rest("DETAILS"),
    ]);
    for job in model.figures.jobs() {
        grid.row([
            Cell::styled(status_word(job.status), look.status(job.status)),
            Cell::styled(&job.kind, bold()),
            Cell::from(&job.queue),
            Cell::from(format_args!("{}/{}", job.attempts, job.max_attempts)),
            Cell::from(ago(job.created_at, model.now)),
            Cell::from(details(job, model)),
        ]);
    }
    let empty = match (&slot.refused, &slot.value) {
        (Some(why), _) => why,
        (None, None) => "",
        (None, Some(listed)) if listed.has_more => {
            "none of the jobs that were examined match: add queue: or status: to the filter"
        }
        (None, Some(_)) if model.list().filter.is_empty() => "no jobs yet",
        (None, Some(_)) => "no jobs match: / edits the filter, and esc clears it",
    };
    grid.draw(frame, area, model.selected(), empty);
}

/// What tells most about a job in this status.
fn details(job: &Job, model: &Model) -> String {
    let last = job.errors.last().map(|failure| &failure.error).or(job.reason.as_ref());
    let error = || last.map_or(String::new(), |error| error.as_str().to_owned());
    let marked = job.undecodable().map(|mark| mark.error.as_str());
    match job.status {
        Status::Running | Status::Expired => match &job.progress {
            Some(at) => format!("{:.0} % {}", at.fraction * 100., at.message),
            None => job.worker.as_ref().map(ToString::to_string).unwrap_or_default(),
        },
        Status::Dead => error(),
        Status::Scheduled | Status::Failed if marked.is_some() => {
            let next = ago(job.scheduled_at, model.now);
            format!("again {next}: undecodable: {}", marked.unwrap_or_default())
        }
        Status::Failed => {
            let next = ago(job.scheduled_at, model.now);
            format!("again {next}: {}", error())
        }
        Status::Scheduled => format!("due {}", ago(job.scheduled_at, model.now)),
        Status::Completed | Status::Cancelled => match job.finished_at {
            Some(at) => format!("ended {}", ago(at, model.now)),
            None => String::new(),
        },
        _ => job.partition_key.as_ref().map(|key| format!("key {key}")).unwrap_or_default(),
    }
}

/// Why the job does not run, then its fields, its attempts with their errors, and its log.
pub(super) fn opened(model: &Model, look: Look, opened: &Opened, id: JobId) -> Vec<Text> {
    let mut lines = vec![(format!("Job {id}"), bold())];
    if let Some(why) = &opened.missing {
        lines.push((format!("✗ {why}"), look.doubtful()));
    }
    let Some(job) = &opened.job else {
        return lines;
    };
    lines.push((status_word(job.status), look.status(job.status)));
    match (&opened.why, &opened.missing) {
        (Some(why), None) => lines.push((why.clone(), Style::new())),
        (None, None) => lines.push(("…".to_owned(), faint())),
        (_, Some(_)) => lines.push(("It is shown as it was last.".to_owned(), faint())),
    }
    lines.push((String::new(), Style::new()));
    lines.extend(job::told(job, model.now).lines().map(|line| (line.to_owned(), Style::new())));
    lines
}
