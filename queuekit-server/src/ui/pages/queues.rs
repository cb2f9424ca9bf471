//! `/ui/queues`: all queues.

use std::cmp::Reverse;

use axum::response::Response;
use queuekit::Status;
use queuekit::queues::Queue;
use serde::Deserialize;

use super::queue_rows::{queues_of, table_of};
use super::text::query as in_query;
use crate::ui::failure::Failure;
use crate::ui::live::Snapshot;
use crate::ui::view::{Count, Page, Pager, QueueTable, Queues};
use crate::ui::viewer::Viewer;
use crate::web::Scope;

/// Queues of a page.
const ROWS: usize = 100;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Asked {
    /// Only queues whose name contains this.
    q: String,
    order: String,
    /// How many queues come before.
    skip: usize,
}

/// The orders to choose.
const ORDERS: [(&str, &str); 5] = [
    ("name", "Name"),
    ("health", "Health"),
    ("ready", "Ready"),
    ("dead", "Dead"),
    ("oldest", "Oldest"),
];

pub(in crate::ui) async fn show(viewer: Viewer) -> Result<Response, Failure> {
    viewer.caller().need(Scope::Read)?;
    let now = viewer.ui.0.board.now().await;
    let query = viewer.path().split_once('?').map_or("", |(_, query)| query).to_owned();
    let asked: Asked = serde_urlencoded::from_str(&query).unwrap_or_default();
    let (table, all) = table(&viewer, &now, &query);
    let url = |order: &str, skip: usize| {
        let Asked { q, .. } = &asked;
        format!("{}/ui/queues?q={}&order={order}&skip={skip}", viewer.base(), in_query(q))
    };
    let current = order_of(&asked);
    let orders = ORDERS.map(|(order, name)| (url(order, 0), name, order == current));
    let last = asked.skip + table.rows.len();
    let pager = Pager {
        shown: match (table.rows.len(), all) {
            // The list itself says so.
            (_, 0) => String::new(),
            (shown, 1) => format!("{shown} of 1 queue"),
            (shown, all) => format!("{shown} of {} queues", Count::exact(all as u64)),
        },
        examined: None,
        newer: (asked.skip > 0).then(|| url(current, asked.skip.saturating_sub(ROWS))),
        older: (last < all).then(|| url(current, last)),
    };
    let page = Queues {
        shell: viewer.shell(Page::Queues, "Queues", &now),
        search: asked.q.clone(),
        order: current,
        orders: orders.into(),
        table,
        pager,
    };
    viewer.show(&page).await
}

/// The queues of the page, and how many there are in all.
pub(in crate::ui) fn table(viewer: &Viewer, now: &Snapshot, query: &str) -> (QueueTable, usize) {
    let asked: Asked = serde_urlencoded::from_str(query).unwrap_or_default();
    let wanted = asked.q.trim().to_lowercase();
    let is_wanted = |queue: &&Queue| queue.name.as_str().to_lowercase().contains(&wanted);
    let mut queues: Vec<&Queue> = queues_of(viewer, now).filter(is_wanted).collect();
    let count = |queue: &&Queue, status| Reverse(queue.counts.get(status).value);
    match order_of(&asked) {
        "health" => queues.sort_by_key(|queue| queue.health.score),
        "ready" => queues.sort_by_key(|queue| count(queue, Status::Ready)),
        "dead" => queues.sort_by_key(|queue| count(queue, Status::Dead)),
        "oldest" => queues.sort_by_key(|queue| Reverse(queue.oldest_ready_age)),
        _ => queues.sort_by(|a, b| a.name.cmp(&b.name)),
    }
    let all = queues.len();
    let page: Vec<&Queue> = queues.into_iter().skip(asked.skip).take(ROWS).collect();
    let table = QueueTable { is_search: !wanted.is_empty(), ..table_of(viewer, now, &page) };
    (table, all)
}

fn order_of(asked: &Asked) -> &'static str {
    let known = ORDERS.into_iter().find(|(order, _)| *order == asked.order);
    known.map_or("name", |(order, _)| order)
}
