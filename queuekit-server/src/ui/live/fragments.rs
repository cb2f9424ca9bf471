//! The parts of a page that change while one looks.

use askama::Template;

use super::watched::{Subject, Watching};
use super::{List, Part, Snapshot, WatchedJob};
use crate::ui::pages::history::{self, Range};
use crate::ui::pages::{
    errors, events, job_live, jobs, overview, queue, queues, run, shell, workers,
};
use crate::ui::viewer::Viewer;
use crate::ui::visible::visible;

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
        "/ui/events" => {
            parts.extend(events::live(viewer, now).map(|table| ("consumer-table", html(&table))));
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

/// What the page needs besides figures.
pub(super) fn subject(
    viewer: &Viewer,
    page: &str,
    now: &Snapshot,
    since: Option<u64>,
) -> Option<Subject> {
    let (path, query) = split(page);
    match path {
        "/ui/errors" => {
            let queues = errors::queues(viewer, query, now)?;
            Some(Subject::Errors(queues, errors::read_limit(viewer)))
        }
        "/ui/events" => since.filter(|_| events::is_log_live(viewer, query)).map(Subject::Events),
        _ => path.strip_prefix("/ui/jobs/")?.parse().ok().map(Subject::Job),
    }
}

/// The parts of a page that show it.
pub(super) fn of_subject(
    viewer: &Viewer,
    page: &str,
    now: &Snapshot,
    watching: &Watching,
    list: &mut List,
) -> Vec<Part> {
    let query = split(page).1;
    if let Some(job) = watching.job() {
        return of_job(viewer, &job);
    }
    if let Some(groups) = watching.errors() {
        let Some(rows) = errors::rows(viewer, &groups, now) else { return Vec::new() };
        let (rows, new) = list.groups.keep(rows, |row| row.url.clone());
        let newer = errors::newer(viewer, query, new);
        let table = errors::table(query, rows);
        return vec![("error-table", html(&table)), ("newer", html(&newer))];
    }
    if let (Some(events), Some(since)) = (watching.events(), list.since) {
        return vec![("newer", html(&events::newer(viewer, query, &events, since)))];
    }
    Vec::new()
}

/// The parts of the page of a job.
fn of_job(viewer: &Viewer, job: &WatchedJob) -> Vec<Part> {
    let Some(live) = job_live::of(viewer, job) else {
        return vec![("job-head", html(&job_live::gone()))];
    };
    let mut parts = vec![
        ("gantt", html(&live.gantt)),
        ("timeline", html(&live.timeline)),
        ("logs", html(&live.logs)),
        ("job-facts", html(&live.facts)),
        ("job-result", html(&live.result)),
    ];
    if let Some((steps, actions)) = live.steps {
        parts.extend([("steps", html(&steps)), ("job-actions", html(&actions))]);
    }
    parts.extend(live.head.map(|head| ("job-head", html(&head))));
    parts
}

/// How many jobs are newer than a list, if its figures tell.
pub(super) fn newer_jobs(
    viewer: &Viewer,
    page: &str,
    now: &Snapshot,
    list: &mut List,
) -> Option<Part> {
    let (path, query) = split(page);
    let total = if path == "/ui/jobs" { jobs::total(viewer, now, query)? } else { return None };
    if list.since.is_none() && std::mem::replace(&mut list.has_looked, true) {
        list.since = Some(total);
    }
    let since = list.since?;
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
    part.render().map(visible).unwrap_or_default()
}
