//! Actions on the selected jobs of a list, one after the other.

use axum::http::{Method, StatusCode};
use axum::response::Response;
use queuekit::{Job, JobId};

use super::text::jobs_url;
use crate::ui::failure::Failure;
use crate::ui::form::Form;
use crate::ui::redirect::redirect;
use crate::ui::view::{Action, JobRow, Page, Selected, Tone};
use crate::ui::viewer::Viewer;

/// The most jobs that can be selected: a page has fewer.
const MOST: usize = 200;

pub(super) async fn act(viewer: Viewer, form: Form) -> Result<Response, Failure> {
    let ids: Result<Vec<JobId>, _> = form.all("id").take(MOST + 1).map(str::parse).collect();
    let ids = ids.map_err(|_| refused("an id of the form is none"))?;
    if ids.is_empty() || ids.len() > MOST {
        return Err(refused(&format!("select 1 to {MOST} jobs")));
    }
    let action = form.get("action");
    let is_danger = matches!(action, "cancel" | "delete");
    if is_danger && form.get("confirmed") != "yes" {
        return ask(&viewer, &form, action, &ids).await;
    }
    for id in &ids {
        let done = match action {
            "retry" => viewer.act(Method::POST, &format!("/v1/jobs/{id}/retry")).await,
            "cancel" => viewer.act(Method::POST, &format!("/v1/jobs/{id}/cancel")).await,
            "delete" => viewer.act(Method::DELETE, &format!("/v1/jobs/{id}")).await,
            _ => return Err(refused("the action must be retry, cancel or delete")),
        };
        match done {
            Ok(_) => {}
            // A job that has changed meanwhile is passed over, as one that is gone.
            Err(failure)
                if [StatusCode::CONFLICT, StatusCode::NOT_FOUND].contains(&failure.status) => {}
            Err(failure) => return Err(failure),
        }
    }
    let list = jobs_url(viewer.base(), form.get("q"));
    Ok(redirect(&format!("{list}&did=selected")))
}

/// Asks before what cannot be undone.
async fn ask(
    viewer: &Viewer,
    form: &Form,
    action: &str,
    ids: &[JobId],
) -> Result<Response, Failure> {
    let at = viewer.app().now();
    let mut rows = Vec::new();
    for id in ids {
        // What is gone is not asked for.
        if let Ok(answer) = viewer.get(&format!("/v1/jobs/{id}")).await {
            rows.push(JobRow::of(&answer.read::<Job>()?, at));
        }
    }
    let (verb, detail) = match action {
        "delete" => ("Delete", "Deleted jobs are gone for good. A running one is left alone."),
        _ => ("Cancel", "A running job is asked to stop. Jobs that have ended stay as they are."),
    };
    let jobs = crate::ui::view::Count::exact(rows.len() as u64).jobs();
    let url = format!("{}/ui/jobs/selected", viewer.base());
    let mut button = Action::new("do", url, &viewer.csrf(), format!("{verb} {jobs}"))
        .field("action", action)
        .field("confirmed", "yes")
        .field("q", form.get("q"))
        .tone(Tone::Danger);
    for row in &rows {
        button = button.field("id", row.id.clone());
    }
    let now = viewer.ui.0.board.now().await;
    let page = Selected {
        shell: viewer.shell(Page::Jobs, "Selected jobs", &now),
        question: format!("{verb} {jobs}?"),
        detail: detail.to_owned(),
        rows,
        action: button,
        back: jobs_url(viewer.base(), form.get("q")),
    };
    viewer.show(&page).await
}

fn refused(detail: &str) -> Failure {
    Failure::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
}
