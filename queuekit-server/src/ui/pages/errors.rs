//! `/ui/errors`: what fails, in groups.

use std::cmp::Reverse;

use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::Response;
use queuekit::error_groups::ErrorGroup;
use queuekit::history::Resolution;
use queuekit::store::limits::PAGE_JOBS;
use queuekit::{QueueName, Timestamp};
use serde::{Deserialize, Serialize};

use super::queue_rows::{queues_of, store_time};
use super::text::query;
use crate::ui::attention::is_new;
use crate::ui::failure::Failure;
use crate::ui::live::Snapshot;
use crate::ui::view::{
    Count, ErrorTable, Errors, GroupRow, Newer, Note, Page, Pager, RecentErrors, Sparkline, When,
};
use crate::ui::viewer::Viewer;
use crate::web::Scope;
use crate::wire::{ErrorGroupBody, ErrorGroupsBody, MERGED_QUEUES, NoteBody, RecentErrorsBody};

/// Groups of a page.
const ROWS: usize = 100;
/// The most queues to choose.
const QUEUES: usize = 12;

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
    let page = Errors {
        shell: viewer.shell(Page::Errors, "Errors", &now),
        is_to_choose,
        queues,
        newer: newest(viewer.base(), &asked.queue, 0),
        table: table_of(asked.queue, rows),
    };
    viewer.show(&page).await
}

/// The queues whose errors a page of this query lists, if it does.
pub(in crate::ui) fn queues(
    viewer: &Viewer,
    query: &str,
    now: &Snapshot,
) -> Option<Vec<QueueName>> {
    let asked: Asked = serde_urlencoded::from_str(query).ok()?;
    let is_listed = |name: &str| asked.queue.is_empty() || asked.queue == name;
    let seen = queues_of(viewer, now).filter(|queue| is_listed(queue.name.as_str()));
    let names: Vec<QueueName> =
        seen.take(MERGED_QUEUES + 1).map(|queue| queue.name.clone()).collect();
    (1..=MERGED_QUEUES).contains(&names.len()).then_some(names)
}

/// How many groups of these queues are read for a page. Of all groups, the latest may be of other
/// kinds than those of the viewer.
pub(in crate::ui) fn read_limit(viewer: &Viewer) -> usize {
    if viewer.caller().is_bound_to_kinds() { PAGE_JOBS } else { ROWS }
}

/// The rows of those groups that the viewer may see; none if others may be missing.
pub(in crate::ui) fn rows(
    viewer: &Viewer,
    groups: &[ErrorGroup],
    now: &Snapshot,
) -> Option<Vec<GroupRow>> {
    let is_seen = |group: &&ErrorGroup| viewer.caller().sees_kind(group.key.kind.as_str());
    let seen: Vec<&ErrorGroup> = groups.iter().filter(is_seen).take(ROWS).collect();
    if seen.len() < ROWS && groups.len() >= PAGE_JOBS {
        return None;
    }
    // A time at which nothing changes between two minutes, so that nothing is sent.
    let at = Resolution::Minute.start_of(store_time(viewer, now));
    let row = |group| row(body(group, now), viewer.base(), at);
    Some(seen.into_iter().map(row).collect())
}

/// A group with the note on it, as far as the figures tell.
pub(super) fn body(group: &ErrorGroup, now: &Snapshot) -> ErrorGroupBody {
    let mut queues = now.figures.iter().flat_map(|figures| &figures.queues);
    let queue = queues.find(|queue| queue.name == group.queue);
    ErrorGroupBody::of(group, queue.map(|queue| &queue.settings))
}

pub(in crate::ui) fn table(query: &str, rows: Vec<GroupRow>) -> ErrorTable {
    let asked: Asked = serde_urlencoded::from_str(query).unwrap_or_default();
    table_of(asked.queue, rows)
}

/// The link to the same list with groups that are new; the list itself does not move.
pub(in crate::ui) fn newer(viewer: &Viewer, query: &str, count: u64) -> Newer {
    let asked: Asked = serde_urlencoded::from_str(query).unwrap_or_default();
    newest(viewer.base(), &asked.queue, count)
}

fn newest(base: &str, queue: &str, count: u64) -> Newer {
    Newer {
        told: if count == 0 { String::new() } else { format!("{} newer", Count::exact(count)) },
        url: match queue {
            "" => format!("{base}/ui/errors"),
            queue => format!("{base}/ui/errors?queue={}", query(queue)),
        },
        since: None,
    }
}

fn table_of(queue: String, rows: Vec<GroupRow>) -> ErrorTable {
    let more = if rows.len() == ROWS { "the latest " } else { "" };
    let groups = if rows.len() == 1 { "group" } else { "groups" };
    let shown = format!("{more}{} {groups}", rows.len());
    ErrorTable { queue, rows, pager: Pager { shown, ..Pager::default() } }
}

async fn groups(viewer: &Viewer, queue: Option<&str>) -> Result<Vec<ErrorGroupBody>, Failure> {
    let answer = viewer.find("/v1/errors", &ToApi { queue, limit: ROWS }).await?;
    let found: ErrorGroupsBody = answer.read()?;
    Ok(found.groups)
}

/// A group as a row.
pub(super) fn row(group: ErrorGroupBody, base: &str, now: Timestamp) -> GroupRow {
    let url = super::job::error_url(base, &group.id, &group.queue);
    let first = When::of(group.first.0, now);
    GroupRow {
        url,
        queue: group.queue,
        kind: group.kind,
        signature: group.signature,
        failures: Count::exact(group.failures),
        deaths: Count::exact(group.deaths),
        is_new: is_new(group.first.0, now),
        first,
        last: When::of(group.last.0, now),
        recent: recent(&group.recent),
        note: group.note.map(|NoteBody { text, by, at }| Note {
            text,
            by,
            at: When::of(at.0, now),
        }),
    }
}

fn recent(of: &RecentErrorsBody) -> RecentErrors {
    let [hour, day, week] = [of.in_hour(), of.in_24_hours(), of.in_7_days()].map(Count::exact);
    let most = Count::exact(of.hours.iter().max().copied().unwrap_or_default());
    let label = format!("{} in 24 hours, {most} at most in an hour", day.of("error"));
    RecentErrors { hour, day, week, spark: Sparkline { values: of.hours.clone(), label } }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guard: the current hour is not a whole one, and 24 hours are not the current day.
    #[test]
    fn r8_11_a_row_has_the_current_hour_24_hours_and_7_days_and_their_course() {
        let mut body = RecentErrorsBody { hours: vec![0; 24], days: vec![0; 7] };
        (body.hours[0], body.hours[22], body.hours[23]) = (5, 20, 3);
        (body.days[0], body.days[6]) = (100, 12);
        let shown = recent(&body);
        assert_eq!([shown.hour, shown.day, shown.week].map(|count| count.value), [3, 28, 112]);
        assert_eq!(shown.spark.values, body.hours);
        assert_eq!(shown.spark.label, "28 errors in 24 hours, 20 at most in an hour");
    }
}
