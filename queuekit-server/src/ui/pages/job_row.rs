//! A job as a row of a list.

use queuekit::{Job, State, Status, Timestamp};

use crate::ui::view::{JobRow, Mark, When};

/// The most letters of an error in a row.
const LETTERS: usize = 300;

impl JobRow {
    pub(in crate::ui) fn of(job: &Job, now: Timestamp) -> Self {
        let error = last_error(job);
        let detail = match (job.status, error, &job.progress) {
            (Status::Dead | Status::Failed, Some(error), _) => brief(error),
            (Status::Running, _, Some(progress)) => {
                format!("{:.0} % {}", progress.fraction * 100.0, brief(&progress.message))
            }
            (Status::Running | Status::Expired, ..) => {
                job.worker.as_ref().map_or(String::new(), |worker| format!("on {worker}"))
            }
            _ => String::new(),
        };
        let mark = job.undecodable().filter(|_| job.state == State::Pending);
        let mark = mark.map(|mark| format!("Undecodable: {}", mark.error));
        Self {
            id: job.id.to_string(),
            kind: job.kind.to_string(),
            queue: job.queue.to_string(),
            mark: Mark::status(job.status.as_str()),
            attempts: job.attempts,
            max_attempts: job.max_attempts,
            enqueued: When::of(job.created_at, now),
            moment: moment(job, now),
            is_error: matches!(job.status, Status::Dead | Status::Failed) || mark.is_some(),
            detail: mark.as_deref().map_or(detail, brief),
        }
    }
}

/// Why the job is dead, or else its last failure.
pub(in crate::ui) fn last_error(job: &Job) -> Option<&str> {
    let last = job.errors.last().map(|failure| failure.error.as_str());
    last.or(job.reason.as_ref().map(|reason| reason.as_str()))
}

fn moment(job: &Job, now: Timestamp) -> Option<(&'static str, When)> {
    let (word, at) = match job.status {
        Status::Running | Status::Expired => ("started", job.started_at?),
        Status::Dead => ("died", job.finished_at?),
        Status::Cancelled | Status::Completed => ("ended", job.finished_at?),
        Status::Failed => ("retry", job.scheduled_at),
        Status::Scheduled => ("due", job.scheduled_at),
        Status::Ready | Status::Blocked => ("due", job.scheduled_at),
    };
    Some((word, When::of(at, now)))
}

/// The first line, cut at a number of letters.
pub(in crate::ui) fn brief(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut shown: String = line.chars().take(LETTERS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
