//! The parts of a page that change while one looks.

use askama::Template;

use super::Snapshot;
use crate::ui::pages::{bulk, overview, queue, queues, shell, workers};
use crate::ui::viewer::Viewer;

/// The elements of this page by their ids.
pub(super) fn of(viewer: &Viewer, page: &str, now: &Snapshot) -> Vec<(&'static str, String)> {
    let (path, query) = page.split_once('?').unwrap_or((page, ""));
    let mut parts = vec![("away", html(&shell::away(now)))];
    match path {
        "/ui" => {
            parts.push(("attention", html(&overview::attention(viewer, now))));
            parts.push(("numbers", html(&overview::numbers(viewer, now))));
            parts.push(("queue-table", html(&overview::queue_table(viewer, now))));
        }
        "/ui/queues" => {
            parts.push(("queue-table", html(&queues::table(viewer, now, query).0)));
        }
        "/ui/workers" => parts.push(("worker-table", html(&workers::table(viewer, now, None)))),
        _ => {
            if let Some(id) = path.strip_prefix("/ui/bulk/")
                && let Some(run) = bulk::progress(viewer, id)
            {
                parts.push(("bulk-run", html(&run)));
            }
            if let Some(name) = path.strip_prefix("/ui/queues/")
                && let Some(found) = queue::found(viewer, now, name)
            {
                parts.push(("queue-head", html(&queue::head(viewer, now, found))));
                let serving = workers::table(viewer, now, Some(found.name.as_str()));
                parts.push(("worker-table", html(&serving)));
            }
        }
    }
    parts
}

fn html(part: &impl Template) -> String {
    // A template of values in memory does not fail.
    part.render().unwrap_or_default()
}
