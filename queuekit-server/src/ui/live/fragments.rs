//! The parts of a page that change while one looks.

use askama::Template;
use queuekit::JobId;

use super::{NewerSince, Snapshot, WatchedJob};
use crate::ui::pages::history::{self, Range};
use crate::ui::pages::{job_live, jobs, overview, queue, queues, run, shell, workers};
use crate::ui::viewer::Viewer;

/// An element by its id.
type Part = (&'static str, String);

/// The elements of this page by their ids.
pub(super) fn of(viewer: &Viewer, page: &str, now: &Snapshot) -> Vec<Part> {
    let (path, query) = split(page);
    let mut parts = vec![("away", html(&shell::away(now)))];
    match path {
        "/ui" => {
            parts.push(("attention", html(&overview::attention(viewer, now))));
            parts.push(("numbers", html(&overview::numbers(viewer, now))));
            parts.push(("queue-table", html(&overview::queue_table(viewer, now))));
            parts.extend(charts(viewer, None, query, now));
        }
        "/ui/queues" => {
            parts.push(("queue-table", html(&queues::table(viewer, now, query).0)));
        }
        "/ui/workers" => parts.push(("worker-table", html(&workers::table(viewer, now, None)))),
        _ => {
            if let Some(id) = path.strip_prefix("/ui/runs/")
                && let Some(run) = run::progress(viewer, id, query)
            {
                parts.push(("run", html(&run)));
            }
            if let Some(name) = path.strip_prefix("/ui/queues/")
                && let Some(found) = queue::found(viewer, now, name)
            {
                parts.push(("queue-head", html(&queue::head(viewer, now, found))));
                let serving = workers::table(viewer, now, Some(found.name.as_str()));
                parts.push(("worker-table", html(&serving)));
                parts.extend(charts(viewer, Some(found.name.as_str()), query, now));
            }
        }
    }
    parts
}

/// The job of a page.
pub(super) fn job_of(page: &str) -> Option<JobId> {
    split(page).0.strip_prefix("/ui/jobs/")?.parse().ok()
}

/// The parts of the page of a job.
pub(super) fn of_job(viewer: &Viewer, job: &WatchedJob) -> Vec<Part> {
    let Some(live) = job_live::of(viewer, job) else {
        return vec![("job-head", html(&job_live::gone()))];
    };
    let mut parts = vec![
        ("gantt", html(&live.gantt)),
        ("timeline", html(&live.timeline)),
        ("logs", html(&live.logs)),
        ("job-facts", html(&live.facts)),
        ("job-actions", html(&live.actions)),
        ("job-result", html(&live.result)),
    ];
    parts.extend(live.head.map(|head| ("job-head", html(&head))));
    parts
}

/// How many jobs are newer than a list, if its figures tell.
pub(super) fn newer(
    viewer: &Viewer,
    page: &str,
    now: &Snapshot,
    since: &mut NewerSince,
) -> Option<Part> {
    let (path, query) = split(page);
    let total = if path == "/ui/jobs" { jobs::total(viewer, now, query)? } else { return None };
    if since.total.is_none() && std::mem::replace(&mut since.has_looked, true) {
        since.total = Some(total);
    }
    let since = since.total?;
    Some(("newer", html(&jobs::newer(viewer, query, since, total))))
}

fn charts(viewer: &Viewer, queue: Option<&str>, query: &str, now: &Snapshot) -> Vec<Part> {
    let Ok(asked) = serde_urlencoded::from_str(query) else { return Vec::new() };
    let Some(charts) = history::live(viewer, queue, Range::of(&asked), now) else {
        return Vec::new();
    };
    vec![("throughput", html(&charts.throughput)), ("latency", html(&charts.latency))]
}

fn split(page: &str) -> (&str, &str) {
    page.split_once('?').unwrap_or((page, ""))
}

fn html(part: &impl Template) -> String {
    // A template of values in memory does not fail.
    part.render().unwrap_or_default()
}
