//! The life of a job: a timeline of its runs, and the same as a bar.

use std::time::Duration;

use queuekit::error_groups::GroupKey;
use queuekit::{Job, Status, Timestamp};

use super::text::query;
use crate::ui::view::{Dot, Dots, ErrorText, Gantt, Mark, Ms, Step, Stretch, Timeline, When};

/// Jobs that have ended, the latest last: these are given the latest first.
pub(super) fn dots(jobs: &[Job], base: &str, now: Timestamp) -> Dots {
    let dot = |job: &Job| {
        let took = ran(job, now).map_or(String::new(), |time| format!(" in {}", Ms::from(time)));
        let ended = job.finished_at.map(|at| When::of(at, now).relative()).unwrap_or_default();
        Dot {
            mark: Mark::status(job.status.as_str()),
            url: format!("{base}/ui/jobs/{}", job.id),
            label: format!("{}{took}, {ended}", job.status),
        }
    };
    Dots { items: jobs.iter().rev().map(dot).collect() }
}

/// A run that has ended, or is in progress.
struct Run {
    lease: u64,
    began: Option<Timestamp>,
    ended: Option<Timestamp>,
    class: &'static str,
    title: String,
    worker: Option<String>,
    error: Option<ErrorText>,
}

pub(in crate::ui) fn timeline(job: &Job, base: &str, now: Timestamp) -> Timeline {
    let runs = runs(job, base);
    let mut steps = vec![step("info", "Enqueued".to_owned(), Some(job.created_at), now)];
    let mut last = job.created_at;
    for run in &runs {
        let mut step = step(run.class, run.title.clone(), run.ended.or(run.began), now);
        step.lasted =
            run.began.zip(run.ended.or(Some(now))).map(|(from, to)| to.since(from).into());
        let waited = run.began.map(|began| began.since(last)).filter(|time| !time.is_zero());
        step.before = waited.map(|time| ("waited", time.into()));
        (step.worker, step.error) = (run.worker.clone(), run.error.clone());
        last = run.ended.unwrap_or(last);
        steps.push(step);
    }
    let end = job.finished_at.map(|at| {
        let is_told = runs.last().is_some_and(|run| run.ended == Some(at));
        let title = match job.status {
            Status::Dead => "Dead-lettered",
            Status::Cancelled => "Cancelled",
            _ => "Completed",
        };
        let mut step = step(job.status.as_str(), title.to_owned(), Some(at), now);
        // The last run has told it, if that is why.
        let told = job.errors.last().filter(|_| is_told).map(|failure| failure.error.as_str());
        let reason = job.reason.as_ref().map(|why| why.as_str()).filter(|why| told != Some(*why));
        step.error = reason.map(|why| error(job, base, why));
        (is_told, step)
    });
    match (end, job.status) {
        (Some((is_told, end)), _) if !is_told || job.status == Status::Dead => steps.push(end),
        (None, Status::Failed) => steps.push(future("Retry is due", job.scheduled_at, now)),
        (None, Status::Scheduled) => steps.push(future("Due", job.scheduled_at, now)),
        _ => {}
    }
    let told = job.errors.len() + job.released.len();
    let ended = u64::from(job.attempts).saturating_add(u64::from(job.releases));
    let open =
        u64::from(matches!(job.status, Status::Running | Status::Expired | Status::Completed));
    let forgotten = ended.saturating_sub(open).saturating_sub(told as u64);
    Timeline { base: base.to_owned(), steps, forgotten }
}

pub(in crate::ui) fn gantt(job: &Job, base: &str, now: Timestamp) -> Gantt {
    let mut parts = Vec::new();
    let mut last = job.created_at;
    let wait = |parts: &mut Vec<Stretch>, from: Timestamp, to: Timestamp| {
        let ms = Ms::from(to.since(from)).0;
        let class = if parts.is_empty() { "waited" } else { "backoff" };
        parts.push(Stretch { class, name: "waited".to_owned(), ms });
    };
    for run in runs(job, base) {
        let Some(began) = run.began else { continue };
        let ended = run.ended.unwrap_or(now);
        wait(&mut parts, last, began);
        let ms = Ms::from(ended.since(began)).0;
        parts.push(Stretch { class: run.class, name: run.title, ms });
        last = ended;
    }
    if job.finished_at.is_none() && !matches!(job.status, Status::Running | Status::Expired) {
        wait(&mut parts, last, now);
    }
    Gantt { parts }
}

/// How long the last run took, or has taken.
pub(in crate::ui) fn ran(job: &Job, now: Timestamp) -> Option<Duration> {
    let runs = runs(job, "");
    let last = runs.last()?;
    Some(last.ended.unwrap_or(now).since(last.began?))
}

/// How long the job waited for its first run.
pub(in crate::ui) fn waited(job: &Job) -> Option<Duration> {
    let first = runs(job, "").into_iter().find_map(|run| run.began)?;
    Some(first.since(job.created_at))
}

/// All runs that are remembered, oldest first.
fn runs(job: &Job, base: &str) -> Vec<Run> {
    let failures = job.errors.iter().map(|failure| Run {
        lease: failure.lease_seq,
        began: failure.started_at,
        ended: Some(failure.at),
        class: "failed",
        title: format!("Attempt {} failed", failure.attempt),
        worker: failure.worker.as_ref().map(ToString::to_string),
        error: Some(error(job, base, failure.error.as_str())),
    });
    let releases = job.released.iter().map(|release| Run {
        lease: release.lease_seq,
        began: release.started_at,
        ended: Some(release.at),
        class: "released",
        title: match release.cause {
            Some(cause) => format!("Released: {cause}"),
            None => "Released".to_owned(),
        },
        worker: release.worker.as_ref().map(ToString::to_string),
        // Only failures are in a group of errors.
        error: release.undecodable.as_ref().map(|mark| ErrorText::of(mark.error.as_str(), None)),
    });
    let mut runs: Vec<Run> = failures.chain(releases).collect();
    runs.sort_by_key(|run| run.lease);
    let worker = || job.worker.as_ref().map(ToString::to_string);
    let attempt = job.attempts;
    match job.status {
        Status::Running | Status::Expired => runs.push(Run {
            lease: job.lease_seq,
            began: job.started_at,
            ended: None,
            class: job.status.as_str(),
            title: format!("Attempt {attempt} runs"),
            worker: worker(),
            error: None,
        }),
        Status::Completed => runs.push(Run {
            lease: job.lease_seq,
            began: job.started_at,
            ended: job.finished_at,
            class: "completed",
            title: format!("Attempt {attempt} completed"),
            worker: worker(),
            error: None,
        }),
        _ => {}
    }
    runs
}

/// An error, with its group.
pub(in crate::ui) fn error(job: &Job, base: &str, text: &str) -> ErrorText {
    let group = GroupKey::of(job.kind.clone(), text).id();
    let queue = query(job.queue.as_str());
    ErrorText::of(text, Some(format!("{base}/ui/errors/{group}?queue={queue}")))
}

fn step(shape: &'static str, title: String, at: Option<Timestamp>, now: Timestamp) -> Step {
    Step {
        shape,
        title,
        at: at.map(|at| When::of(at, now)),
        lasted: None,
        before: None,
        worker: None,
        error: None,
        is_future: false,
    }
}

fn future(title: &str, at: Timestamp, now: Timestamp) -> Step {
    Step { is_future: true, ..step("info", title.to_owned(), Some(at), now) }
}
