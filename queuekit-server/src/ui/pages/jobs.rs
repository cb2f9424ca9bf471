//! `/ui/jobs`: the jobs of a filter.

use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::Response;
use queuekit::Job;
use queuekit::jobs::{BulkActionName, StatusSet};
use serde::{Deserialize, Serialize};

use super::bulk;
use super::filter::{Filter, READ_FOR_MS};
use super::impossible::why_impossible;
use super::text::jobs_url;
use crate::ui::failure::Failure;
use crate::ui::live::Snapshot;
use crate::ui::redirect::redirect;
use crate::ui::view::{BulkButton, Count, JobRow, Jobs, Newer, Page, Pager};
use crate::ui::viewer::Viewer;
use crate::web::Scope;
use crate::wire::{FilterBody, JobsBody};

/// Jobs of a page.
const ROWS: usize = 50;
/// A page tells how many jobs it has looked at if they are more than this.
const EXAMINED: usize = 1000;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    q: String,
    /// Words to add to the filter.
    add: String,
    cursor: Option<String>,
}

#[derive(Serialize)]
struct ToApi<'a> {
    #[serde(flatten)]
    filter: &'a FilterBody,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    recent: bool,
    limit: usize,
    within_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<&'a str>,
}

pub(super) async fn show(viewer: Viewer, Query(asked): Query<Asked>) -> Result<Response, Failure> {
    viewer.caller().need(Scope::Read)?;
    let filter = Filter::read(&asked.q);
    let mut error = None;
    if !asked.add.trim().is_empty() {
        let both = Filter::read(&format!("{} {}", asked.q, asked.add));
        match both.error {
            None => return Ok(redirect(&jobs_url(viewer.base(), &both.text))),
            Some(why) => error = Some(why),
        }
    }
    // Words that are no filter are left to be corrected.
    let typed = if filter.error.is_some() { &asked.q } else { &asked.add };
    let now = viewer.ui.0.board.now().await;
    let found = match filter.error {
        Some(_) => None,
        None => match page(&viewer, &filter, ROWS, asked.cursor.as_deref()).await {
            Ok(found) => Some(found),
            // The filter is what is wrong, such as for a key that has to name its queue.
            Err(failure) if is_of_filter(&failure) => {
                error = Some(failure.detail);
                None
            }
            Err(failure) => return Err(failure),
        },
    };
    let at = viewer.app().now();
    let rows: Vec<JobRow> =
        found.iter().flat_map(|found| &found.jobs).map(|job| JobRow::of(job, at)).collect();
    let here = jobs_url(viewer.base(), &filter.text);
    let order = match is_recent(&viewer, &filter).await {
        true => "The last to end first",
        false => "By queue, then by status",
    };
    let pager = pager(found.as_ref(), &here, asked.cursor.is_some());
    let selected = buttons(&viewer, found.as_ref().map_or(&[], |found| &found.jobs));
    let page = Jobs {
        shell: viewer.shell(Page::Jobs, "Jobs", &now),
        filter: filter.bar(&viewer, &now, typed, error),
        newer: Newer { told: String::new(), url: here, since: None },
        order,
        rows,
        pager,
        selected,
        all: bulk::links(&viewer, &filter),
        all_told: "All that match".to_owned(),
        bulk_url: format!("{}/ui/jobs/selected", viewer.base()),
    };
    viewer.show(&page).await
}

/// A page of the jobs of a filter, of those that a moment is enough to find; those that have ended
/// by the time of their end.
pub(in crate::ui) async fn page(
    viewer: &Viewer,
    filter: &Filter,
    limit: usize,
    cursor: Option<&str>,
) -> Result<JobsBody<Job>, Failure> {
    let recent = is_recent(viewer, filter).await;
    let query = ToApi { filter: &filter.body, recent, limit, within_ms: READ_FOR_MS, cursor };
    let answer = viewer.find("/v1/jobs", &query).await?;
    answer.read()
}

/// Whether a list of the filter is by the time of the end.
async fn is_recent(viewer: &Viewer, filter: &Filter) -> bool {
    filter.is_of_ended() && viewer.can_list_recent().await
}

/// How many jobs the list of this query has ever had, if the figures of queues tell. A later page
/// of the list has none that are newer.
pub(in crate::ui) fn total(viewer: &Viewer, now: &Snapshot, query: &str) -> Option<u64> {
    let asked: Asked = serde_urlencoded::from_str(query).ok()?;
    if asked.cursor.is_some() {
        return None;
    }
    Filter::read(&asked.q).total(viewer, now)
}

/// The link to the same list with those that came since; the list itself does not move. Jobs that
/// were enqueued are not at its beginning, unless it is by the time of the end.
pub(in crate::ui) fn newer(viewer: &Viewer, query: &str, since: u64, total: u64) -> Newer {
    let asked: Asked = serde_urlencoded::from_str(query).unwrap_or_default();
    let what = if Filter::read(&asked.q).is_of_ended() { "newer" } else { "enqueued since" };
    let told = match total.saturating_sub(since) {
        0 => String::new(),
        count => format!("{} {what}", Count::exact(count)),
    };
    Newer { told, url: jobs_url(viewer.base(), &asked.q), since: Some(since) }
}

impl Viewer {
    /// Whether the store has few enough queues for a list by the time of the end.
    async fn can_list_recent(&self) -> bool {
        let now = self.ui.0.board.now().await;
        now.figures.as_ref().is_some_and(|figures| figures.queues.len() <= 1000)
    }
}

fn is_of_filter(failure: &Failure) -> bool {
    let of_filter =
        [StatusCode::FORBIDDEN, StatusCode::UNPROCESSABLE_ENTITY, StatusCode::BAD_REQUEST];
    of_filter.contains(&failure.status)
}

fn pager(found: Option<&JobsBody<Job>>, here: &str, is_later: bool) -> Pager {
    let Some(found) = found else { return Pager::default() };
    let examined = found.examined.jobs;
    let more = if found.cursor.is_some() { ", and more" } else { "" };
    // The page ended before it was full: what it has looked at shows how far it came.
    let is_cut = found.cursor.is_some() && found.jobs.len() < ROWS;
    let shown = format!("{}{more}", Count::exact(found.jobs.len() as u64).jobs());
    Pager {
        // The list itself says that nothing matches.
        shown: if found.jobs.is_empty() && more.is_empty() { String::new() } else { shown },
        examined: (is_cut || examined > found.jobs.len() + EXAMINED)
            .then(|| format!("examined {}", Count::exact(examined as u64))),
        newer: is_later.then(|| here.to_owned()),
        older: found.cursor.as_ref().map(|cursor| format!("{here}&cursor={cursor}")),
    }
}

/// Actions on the selected jobs; each is impossible if no listed job allows it.
fn buttons(viewer: &Viewer, jobs: &[Job]) -> Vec<BulkButton> {
    let why_not = super::queue::why_not_admin(viewer);
    let listed = jobs.iter().fold(StatusSet::NONE, |all, job| all.with(job.status));
    let button = |action: BulkActionName, verb, is_danger| BulkButton {
        action: action.as_str(),
        verb,
        is_danger,
        impossible: why_not.clone().or_else(|| why_impossible(action, listed)),
    };
    vec![
        button(BulkActionName::Retry, "Retry", false),
        button(BulkActionName::Cancel, "Cancel", true),
        button(BulkActionName::Delete, "Delete", true),
    ]
}
