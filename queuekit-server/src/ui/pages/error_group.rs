//! `/ui/errors/ID`: errors of one queue that look alike, and what can be done about their jobs.

use axum::extract::{Path, Query};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use queuekit::Job;
use queuekit::error_groups::GroupId;
use serde::Deserialize;

use super::errors::row;
use super::filter::Filter;
use super::job::last_error;
use super::queue::{why_not_admin, why_not_configure};
use super::queue_rows::store_time;
use super::text::{jobs_url, query};
use super::{bulk, job_life, jobs};
use crate::ui::failure::Failure;
use crate::ui::form::Form;
use crate::ui::redirect::redirect;
use crate::ui::view::{Action, Count, ErrorGroup, JobRow, Page, Pager, Tone};
use crate::ui::viewer::Viewer;
use crate::web::Scope;
use crate::wire::{ErrorGroupsBody, JobsBody, NewNoteBody};

/// Dead jobs of a page.
const ROWS: usize = 50;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    queue: String,
}

pub(super) async fn show(
    viewer: Viewer,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Response, Failure> {
    viewer.caller().need(Scope::Read)?;
    let id: GroupId = id.parse().map_err(|_| Failure::not_found("this error group"))?;
    let path = format!("/v1/errors/{id}?queue={}", query(&asked.queue));
    let found: ErrorGroupsBody = viewer.get(&path).await?.read()?;
    let Some(group) = found.groups.into_iter().next() else {
        return Err(Failure::not_found("this error group"));
    };
    let now = viewer.ui.0.board.now().await;
    let at = store_time(&viewer, &now);
    let filter = Filter::read(&words(&asked.queue, &group.kind, &group.id));
    let dead = jobs::page(&viewer, &filter, ROWS, None).await?;
    let sample = viewer.get(&format!("/v1/jobs/{}", group.sample)).await;
    let sample: Option<Job> = sample.ok().map(|answer| answer.read()).transpose()?;
    let error = sample.as_ref().and_then(|job| Some((job, last_error(job)?)));
    let error = error.map(|(job, text)| job_life::error(job, viewer.base(), text));
    let count = Count::exact(dead.jobs.len() as u64);
    let is_all = dead.cursor.is_none();
    let none = dead.jobs.is_empty().then(|| none_found(&dead));
    let page = ErrorGroup {
        shell: viewer.shell(Page::Errors, &group.signature, &now),
        dead_now: is_all.then_some(count),
        sample: group.sample.to_string(),
        sample_is_gone: sample.is_none(),
        error,
        actions: actions(&viewer, &id, &asked.queue, none),
        links: links(&viewer, &filter),
        note_url: may_note(&viewer).then(|| format!("{}/ui/errors/{id}/note", viewer.base())),
        csrf: viewer.csrf(),
        jobs: dead.jobs.iter().map(|job| JobRow::of(job, at)).collect(),
        pager: Pager {
            shown: format!("{}{}", count.jobs(), if is_all { "" } else { ", and more" }),
            examined: (!is_all && dead.jobs.is_empty()).then(|| examined(&dead)),
            newer: None,
            older: dead.cursor.as_ref().map(|cursor| {
                let all = jobs_url(viewer.base(), &filter.text);
                if dead.jobs.is_empty() { format!("{all}&cursor={cursor}") } else { all }
            }),
        },
        cli: format!("queuekit errors show {id} --queue {}", asked.queue),
        row: row(group, viewer.base(), at),
    };
    viewer.show(&page).await
}

/// A note is a setting of the queue.
fn may_note(viewer: &Viewer) -> bool {
    why_not_configure(viewer).is_none()
}

/// The filter of its dead jobs.
pub(super) fn words(queue: &str, kind: &str, id: &str) -> String {
    format!("queue:{queue} kind:{kind} status:dead group:{id}")
}

/// Actions on all its jobs: they are counted first.
fn links(viewer: &Viewer, filter: &Filter) -> Vec<(String, String, bool)> {
    if why_not_admin(viewer).is_some() {
        return Vec::new();
    }
    let url = |action| bulk::url(viewer.base(), action, &filter.text);
    vec![
        ("Retry all over 10 minutes".to_owned(), format!("{}&over=10m", url("retry")), false),
        ("Delete all".to_owned(), url("delete"), true),
    ]
}

fn actions(viewer: &Viewer, id: &GroupId, queue: &str, none: Option<String>) -> Vec<Action> {
    let url = format!("{}/ui/errors/{id}/retry-one", viewer.base());
    let label = "Retry one as a test";
    let mut action = Action::new("retry-one", url, &viewer.csrf(), label).field("queue", queue);
    action.impossible = why_not_admin(viewer).or(none);
    let cli = format!("queuekit errors retry --one {id} --queue {queue}");
    vec![action.tone(Tone::Primary).cli(cli)]
}

/// Why there is no dead job to act on. The jobs of its queue are examined for a moment only.
fn none_found(found: &JobsBody<Job>) -> String {
    match found.cursor {
        None => "None of its jobs is dead now".to_owned(),
        Some(_) => format!("No dead job of it was found in time: {}", examined(found)),
    }
}

fn examined(found: &JobsBody<Job>) -> String {
    format!("examined {}", Count::exact(found.examined.jobs as u64).jobs())
}

/// Retries one dead job, as a test.
pub(super) async fn retry_one(
    viewer: Viewer,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, Failure> {
    let id: GroupId = id.parse().map_err(|_| Failure::not_found("this error group"))?;
    let queue = form.get("queue");
    let path = format!("/v1/errors/{id}?queue={}", query(queue));
    let found: ErrorGroupsBody = viewer.get(&path).await?.read()?;
    let Some(group) = found.groups.first() else {
        return Err(Failure::not_found("this error group"));
    };
    let filter = Filter::read(&words(queue, &group.kind, &group.id));
    let found = jobs::page(&viewer, &filter, 1, None).await?;
    let Some(job) = found.jobs.first() else {
        return Err(Failure::new(StatusCode::CONFLICT, none_found(&found)));
    };
    viewer.act(Method::POST, &format!("/v1/jobs/{}/retry", job.id)).await?;
    Ok(redirect(&format!("{}/ui/jobs/{}?did=retry", viewer.base(), job.id)))
}

/// Writes the note.
pub(super) async fn note(
    viewer: Viewer,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, Failure> {
    let id: GroupId = id.parse().map_err(|_| Failure::not_found("this error group"))?;
    let queue = query(form.get("queue"));
    let note = NewNoteBody { text: form.get("text").trim().to_owned() };
    viewer.call(Method::PUT, &format!("/v1/errors/{id}/note?queue={queue}"), &note).await?;
    let did = if note.text.is_empty() { "no-note" } else { "note" };
    Ok(redirect(&format!("{}/ui/errors/{id}?queue={queue}&did={did}", viewer.base())))
}
