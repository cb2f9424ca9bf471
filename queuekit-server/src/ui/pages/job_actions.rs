//! What is done to one job on its page.

use axum::body::Body;
use axum::extract::Path;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use queuekit::{Job, JobId};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::content::HIDDEN;
use super::job::path;
use super::job_copy::{editable, is_hidden};
use crate::grammar::Span;
use crate::ui::failure::Failure;
use crate::ui::form::Form;
use crate::ui::redirect::redirect;
use crate::ui::view::{CopyPage, Page};
use crate::ui::viewer::Viewer;
use crate::web::response_budget::BudgetedBody;
use crate::web::{Problem, Scope};
use crate::wire::{NewJobBody, millis};

/// An action by its name in the address.
pub(super) async fn act(
    viewer: Viewer,
    Path((id, action)): Path<(String, String)>,
    _: Form,
) -> Result<Response, Failure> {
    let job = path(&id)?;
    let post = |action: &str| format!("{job}/{action}");
    match action.as_str() {
        "retry" | "cancel" => viewer.act(Method::POST, &post(&action)).await?,
        "retry-fresh" => {
            viewer.call(Method::POST, &post("retry"), &json!({ "fresh": true })).await?
        }
        "reschedule" => {
            viewer.call(Method::POST, &post("reschedule"), &json!({ "delay_ms": 0 })).await?
        }
        "dead-letter" => {
            let reason = format!("dead-lettered by {}", viewer.caller().id());
            viewer.call(Method::POST, &post("dead-letter"), &json!({ "reason": reason })).await?
        }
        "delete" => {
            viewer.act(Method::DELETE, &job).await?;
            return Ok(redirect(&format!("{}/ui/jobs?did=delete", viewer.base())));
        }
        _ => return Err(Failure::not_found("this action")),
    };
    Ok(redirect(&format!("{}/ui/jobs/{id}?did={action}", viewer.base())))
}

/// The form of a copy.
pub(super) async fn ask_copy(viewer: Viewer, Path(id): Path<String>) -> Result<Response, Failure> {
    let job = shown(&viewer, &id).await?;
    ask(&viewer, &job, None, None).await
}

/// The whole payload or result as a file.
pub(super) async fn file_of(
    viewer: Viewer,
    Path((id, part)): Path<(String, String)>,
) -> Result<Response, Failure> {
    let job = shown(&viewer, &id).await?;
    match (part.as_str(), job.result) {
        ("payload", _) => file(&viewer, job.payload, &format!("payload-{}", job.id)).await,
        ("result", Some(result)) => file(&viewer, result, &format!("result-{}", job.id)).await,
        _ => Err(Failure::not_found("this part of the job")),
    }
}

/// The job, unless its contents are hidden.
async fn shown(viewer: &Viewer, id: &str) -> Result<Job, Failure> {
    let job: Job = viewer.get(&path(id)?).await?.read()?;
    match is_hidden(viewer, &job) {
        true => Err(Failure::new(StatusCode::FORBIDDEN, HIDDEN)),
        false => Ok(job),
    }
}

/// Whatever the bytes are, a browser stores them and does not show them.
async fn file(viewer: &Viewer, bytes: bytes::Bytes, name: &str) -> Result<Response, Failure> {
    let budget = viewer.app().no_budget(viewer.caller());
    let mut response = Response::new(Body::new(BudgetedBody::of(budget, bytes).await?));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    if let Ok(name) = HeaderValue::try_from(format!("attachment; filename=\"{name}\"")) {
        headers.insert(CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

async fn ask(
    viewer: &Viewer,
    job: &Job,
    sent: Option<&Form>,
    error: Option<String>,
) -> Result<Response, Failure> {
    viewer.caller().need(Scope::Enqueue)?;
    let payload = editable(job);
    let payload = payload.map_err(|why| Failure::new(StatusCode::UNPROCESSABLE_ENTITY, why))?;
    let text = |name: &str, own: String| sent.map_or(own, |form| form.get(name).to_owned());
    let now = viewer.ui.0.board.now().await;
    let page = CopyPage {
        shell: viewer.shell(Page::Jobs, "Enqueue a copy", &now),
        id: job.id.to_string(),
        kind: job.kind.to_string(),
        queue: text("queue", job.queue.to_string()),
        payload: text("payload", payload.to_owned()),
        priority: text("priority", String::new()).parse().unwrap_or(job.priority.level()),
        max_attempts: text("max_attempts", String::new()).parse().unwrap_or(job.max_attempts),
        partition_key: text(
            "partition_key",
            job.partition_key.as_ref().map(ToString::to_string).unwrap_or_default(),
        ),
        delay: text("delay", String::new()),
        error,
        url: format!("{}/ui/jobs/{}/copy", viewer.base(), job.id),
    };
    viewer.show(&page).await
}

#[derive(Deserialize)]
struct Enqueued {
    id: JobId,
}

/// Enqueues a copy with another payload. The kind is the one of the original: a payload of one kind
/// must not become a run of another.
pub(super) async fn copy(
    viewer: Viewer,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, Failure> {
    let job = shown(&viewer, &id).await?;
    let enqueued = match new_job(&job, &form) {
        Ok(new) => viewer.call(Method::POST, "/v1/jobs", &new).await,
        Err(failure) => Err(failure),
    };
    let answer = match enqueued {
        Ok(answer) => answer,
        Err(failure) if failure.status == StatusCode::UNPROCESSABLE_ENTITY => {
            let mut page = ask(&viewer, &job, Some(&form), Some(failure.detail)).await?;
            *page.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
            return Ok(page);
        }
        Err(failure) => return Err(failure),
    };
    let new: Enqueued = answer.read()?;
    Ok(redirect(&format!("{}/ui/jobs/{}?did=enqueue", viewer.base(), new.id)))
}

fn new_job(job: &Job, form: &Form) -> Result<NewJobBody, Failure> {
    let wrong =
        |field: &'static str, why: String| Problem::invalid(field, format!("{field}: {why}"));
    let some = |name: &str| Some(form.get(name).trim().to_owned()).filter(|text| !text.is_empty());
    let payload = form.get("payload").trim();
    let payload = RawValue::from_string(payload.to_owned())
        .map_err(|error| wrong("payload", format!("it is no JSON: {error}")))?;
    let delay = some("delay").map(|text| text.parse::<Span>()).transpose();
    let delay = delay.map_err(|why| wrong("delay", why))?;
    let number = |name: &'static str| match some(name).map(|text| text.parse::<u32>()) {
        Some(Err(error)) => Err(Failure::from(wrong(name, error.to_string()))),
        Some(Ok(number)) => Ok(Some(number)),
        None => Ok(None),
    };
    let priority = number("priority")?.and_then(|level| u8::try_from(level).ok());
    Ok(NewJobBody {
        kind: job.kind.to_string(),
        payload: Some(payload),
        queue: some("queue").or_else(|| Some(job.queue.to_string())),
        priority: priority.map(crate::wire::PriorityBody::Level),
        max_attempts: number("max_attempts")?,
        delay_ms: delay.map(|Span(delay)| millis(delay)),
        partition_key: some("partition_key"),
        timeout_ms: Some(millis(job.timeout)),
        metadata: Some(job.metadata.clone()).filter(|metadata| !metadata.is_empty()),
        ..NewJobBody::default()
    })
}
