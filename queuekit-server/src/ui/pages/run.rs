//! `/ui/runs/ID`: a run of this server. Its address also says what it does, so that the page of a
//! run that ended with its server can offer to begin again.

use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::Response;

use super::filter::Filter;
use super::run_address::{Told, url};
use super::text::jobs_url;
use super::{bulk, replay};
use crate::ui::failure::Failure;
use crate::ui::form::Form;
use crate::ui::redirect::redirect;
use crate::ui::run::{Run, State, Task};
use crate::ui::view::{Action, Count, Mark, Ms, Page, Pill, RunPage, RunProgress, Tone, When};
use crate::ui::viewer::Viewer;

pub(super) async fn show(
    viewer: Viewer,
    Path(id): Path<String>,
    Query(told): Query<Told>,
) -> Result<Response, Failure> {
    let run = viewer.ui.0.runs.find(viewer.caller().id(), &id);
    let is_known = run.is_some();
    let told = run.as_ref().map_or(told, |run| Told::of(&run.task));
    let progress = match run {
        Some(run) => progress_of(&viewer, &run),
        None => lost(&viewer, &told).ok_or_else(|| Failure::not_found("this run"))?,
    };
    let now = viewer.ui.0.board.now().await;
    let base = viewer.base();
    let page = if told.consumer.is_empty() {
        let filter = Filter::read(&told.q);
        let title = format!("{} jobs that match", bulk::verb(&told.action).unwrap_or_default());
        RunPage {
            shell: viewer.shell(Page::Jobs, &title, &now),
            title,
            back: (format!("{base}/ui/jobs"), "Jobs".to_owned()),
            pills: filter.bar(&viewer, &now, "", None).pills,
            rest: Some((jobs_url(base, &filter.text), "Jobs that still match")),
            cli: filter.cli(&format!("queuekit job {}", told.action)),
            progress,
        }
    } else {
        let title = format!("Replay events to {}", told.consumer);
        let from = Some(told.from.as_str()).filter(|from| !from.is_empty());
        let since = from.map(|from| Pill::fixed("since", from));
        RunPage {
            shell: viewer.shell(Page::Events, &title, &now),
            title,
            back: (format!("{base}/ui/consumers/{}", told.consumer), told.consumer.clone()),
            pills: since.into_iter().collect(),
            rest: None,
            cli: replay::cli(&told.consumer, from),
            progress,
        }
    };
    let mut page = viewer.show(&page).await?;
    if !is_known {
        *page.status_mut() = StatusCode::NOT_FOUND;
    }
    Ok(page)
}

pub(super) async fn stop(
    viewer: Viewer,
    Path(id): Path<String>,
    _: Form,
) -> Result<Response, Failure> {
    let run = viewer.ui.0.runs.find(viewer.caller().id(), &id);
    let run = run.ok_or_else(|| Failure::not_found("this run"))?;
    run.stop();
    Ok(redirect(&url(&viewer, &run)))
}

/// The progress, which changes while one looks.
pub(in crate::ui) fn progress(viewer: &Viewer, id: &str, query: &str) -> Option<RunProgress> {
    match viewer.ui.0.runs.find(viewer.caller().id(), id) {
        Some(run) => Some(progress_of(viewer, &run)),
        None => lost(viewer, &serde_urlencoded::from_str(query).ok()?),
    }
}

fn progress_of(viewer: &Viewer, run: &Run) -> RunProgress {
    let (progress, now) = (run.progress(), viewer.app().now());
    let (shape, word) = match progress.state {
        State::Running => ("running", "running"),
        State::Completed => ("completed", "done"),
        State::Stopped => ("cancelled", "stopped"),
        State::Failed => ("dead", "failed"),
    };
    let elapsed = progress.ended.unwrap_or(now).since(run.began);
    let is_open = progress.state == State::Running;
    // An end is known once it was reached.
    let is_done = progress.state == State::Completed;
    let expected = run.expected.or(is_done.then_some(progress.matched));
    let left = expected.filter(|_| is_open && progress.matched > 0).map(|expected| {
        let rest = expected.saturating_sub(progress.matched);
        Ms(Ms::from(elapsed).0.saturating_mul(rest) / progress.matched)
    });
    let stop = is_open.then(|| {
        let url = format!("{}/ui/runs/{}/stop", viewer.base(), run.id);
        Action::new("stop", url, &viewer.csrf(), "Stop").tone(Tone::Danger)
    });
    let is_cut = matches!(progress.state, State::Stopped | State::Failed);
    RunProgress {
        mark: Mark::new(shape, word),
        is_known: true,
        changed_word: match run.task {
            Task::Bulk { .. } => "Changed",
            Task::Replay { .. } => "Delivered",
        },
        matched: Count::exact(progress.matched),
        expected: expected.map(|expected| Count::exact(expected.max(progress.matched))),
        changed: Count::exact(progress.changed),
        skipped: Count::exact(progress.skipped),
        started: Some(When::of(run.began, now)),
        started_by: run.started_by.clone(),
        elapsed: Ms::from(elapsed),
        left,
        error: progress.error,
        stop,
        again: again(&Told::of(&run.task), viewer).filter(|_| is_cut),
    }
}

/// A run that this server does not know.
fn lost(viewer: &Viewer, told: &Told) -> Option<RunProgress> {
    Some(RunProgress {
        mark: Mark::new("cancelled", "not known"),
        is_known: false,
        again: Some(again(told, viewer)?),
        ..RunProgress::default()
    })
}

/// The page that counts and asks for the same; none if the address says nothing.
fn again(told: &Told, viewer: &Viewer) -> Option<String> {
    let base = viewer.base();
    if !told.consumer.is_empty() {
        replay::time(&told.from).ok()?;
        return replay::url(base, &told.consumer, &told.from);
    }
    bulk::verb(&told.action)?;
    Filter::read(&told.q).error.is_none().then(|| {
        let over = if told.over.is_empty() { "" } else { &format!("&over={}", told.over) };
        format!("{}{over}", bulk::url(base, &told.action, &told.q))
    })
}
