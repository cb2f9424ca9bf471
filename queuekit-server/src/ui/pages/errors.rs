//! `/ui/errors`: what fails, in groups.

use std::cmp::Reverse;

use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::queue_rows::{queues_of, store_time};
use super::text::query;
use crate::ui::failure::Failure;
use crate::ui::view::{Count, Errors, GroupRow, Page, Pager, When};
use crate::ui::viewer::Viewer;
use crate::web::Scope;
use crate::wire::{ErrorGroupBody, ErrorGroupsBody};

/// Groups of a page.
const ROWS: usize = 100;
/// The most queues to choose.
const QUEUES: usize = 12;
/// A group that began within this time is new.
const NEW_MS: i64 = 3_600_000;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    queue: String,
}

#[derive(Serialize)]
struct ToApi<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    limit: usize,
}

pub(super) async fn show(viewer: Viewer, Query(asked): Query<Asked>) -> Result<Response, Failure> {
    viewer.caller().need(Scope::Read)?;
    let now = viewer.ui.0.board.now().await;
    let queue = Some(asked.queue.as_str()).filter(|queue| !queue.is_empty());
    let (groups, is_to_choose) = match groups(&viewer, queue).await {
        Ok(groups) => (groups, false),
        // Of many queues the store merges no groups.
        Err(refused) if queue.is_none() && refused.status == StatusCode::UNPROCESSABLE_ENTITY => {
            (Vec::new(), true)
        }
        Err(failure) => return Err(failure),
    };
    let at = store_time(&viewer, &now);
    let rows: Vec<GroupRow> =
        groups.into_iter().map(|group| row(group, viewer.base(), at)).collect();
    let base = viewer.base();
    let mut queues = vec![(format!("{base}/ui/errors"), "all".to_owned(), queue.is_none())];
    let failing = queues_of(&viewer, &now);
    let failing = failing.filter(|queue| queue.totals.failed + queue.totals.dead > 0);
    let mut failing: Vec<_> = failing.collect();
    if is_to_choose {
        failing.sort_by_key(|queue| Reverse(queue.totals.dead));
    }
    queues.extend(failing.into_iter().take(QUEUES).map(|own| {
        let name = own.name.as_str();
        let url = format!("{base}/ui/errors?queue={}", query(name));
        (url, name.to_owned(), queue == Some(name))
    }));
    let more = if rows.len() == ROWS { "the latest " } else { "" };
    let shown = format!("{more}{} groups", rows.len());
    let page = Errors {
        shell: viewer.shell(Page::Errors, "Errors", &now),
        queue: asked.queue,
        is_to_choose,
        queues,
        rows,
        pager: Pager { shown, ..Pager::default() },
    };
    viewer.show(&page).await
}

async fn groups(viewer: &Viewer, queue: Option<&str>) -> Result<Vec<ErrorGroupBody>, Failure> {
    let answer = viewer.find("/v1/errors", &ToApi { queue, limit: ROWS }).await?;
    let found: ErrorGroupsBody = answer.read()?;
    Ok(found.groups)
}

/// A group as a row.
pub(super) fn row(group: ErrorGroupBody, base: &str, now: queuekit::Timestamp) -> GroupRow {
    let url = super::job::error_url(base, &group.id, &group.queue);
    let first = When::of(group.first.0, now);
    GroupRow {
        url,
        queue: group.queue,
        kind: group.kind,
        signature: group.signature,
        failures: Count::exact(group.failures),
        deaths: Count::exact(group.deaths),
        is_new: first.age_ms < NEW_MS,
        first,
        last: When::of(group.last.0, now),
    }
}
