//! What is changed on the page of a queue.

use axum::extract::Path;
use axum::http::Method;
use axum::response::Response;
use queuekit::QueueName;
use queuekit::queues::{Keep, Queue, QueuePatch};

use crate::grammar::{OrNone, Span};
use crate::ui::failure::Failure;
use crate::ui::form::Form;
use crate::ui::redirect::redirect;
use crate::ui::view::Ms;
use crate::ui::viewer::Viewer;
use crate::web::Problem;
use crate::wire::PauseBody;

pub(super) async fn pause(
    viewer: Viewer,
    Path(name): Path<String>,
    form: Form,
) -> Result<Response, Failure> {
    let name = QueueName::new(name)?;
    let reason = Some(form.get("reason").trim()).filter(|reason| !reason.is_empty());
    let for_ms = read::<Span>(&form, "for")?.map(|Span(time)| Ms::from(time).0);
    let body = PauseBody { reason: reason.map(str::to_owned), for_ms };
    viewer.call(Method::POST, &format!("/v1/queues/{name}/pause"), &body).await?;
    Ok(back(&viewer, &name, "pause"))
}

pub(super) async fn resume(
    viewer: Viewer,
    Path(name): Path<String>,
    _: Form,
) -> Result<Response, Failure> {
    let name = QueueName::new(name)?;
    viewer.act(Method::POST, &format!("/v1/queues/{name}/resume")).await?;
    Ok(back(&viewer, &name, "resume"))
}

pub(super) async fn configure(
    viewer: Viewer,
    Path(name): Path<String>,
    form: Form,
) -> Result<Response, Failure> {
    let name = QueueName::new(name)?;
    let path = format!("/v1/queues/{name}");
    let queue = viewer.get(&path).await?;
    let patch = patch(&form, &queue.read::<Queue>()?)?;
    // A form that changes nothing was sent for nothing.
    if !patch.is_empty() {
        viewer.call(Method::PATCH, &path, &patch).await?;
    }
    Ok(back(&viewer, &name, "settings"))
}

fn back(viewer: &Viewer, name: &QueueName, did: &str) -> Response {
    redirect(&format!("{}/ui/queues/{name}?did={did}", viewer.base()))
}

/// The settings in the form that differ from the current ones. Only these are sent, so that two
/// people who edit different settings do not undo each other's changes.
fn patch(form: &Form, queue: &Queue) -> Result<QueuePatch, Failure> {
    let own = &queue.settings;
    let mut patch = QueuePatch::default();
    // Browsers send line breaks as CR LF.
    let description = form.get("description").replace("\r\n", "\n");
    if description != own.description {
        patch = patch.description(description);
    }
    if let Some(OrNone(jobs)) = read::<OrNone<u64>>(form, "max-pending")?
        && jobs != own.max_pending
    {
        patch = patch.max_pending(jobs);
    }
    if let Some(leases) = read(form, "per-key")?
        && leases != own.per_key
    {
        patch = patch.per_key(leases);
    }
    if let Some(policy) = read(form, "key-on-wait")?
        && policy != own.key_on_wait
    {
        patch = patch.key_on_wait(policy);
    }
    if let Some(policy) = read(form, "key-on-dead")?
        && policy != own.key_on_dead
    {
        patch = patch.key_on_dead(policy);
    }
    if let Some(order) = read(form, "order")?
        && order != own.order
    {
        patch = patch.order(order);
    }
    if let Some(Span(window)) = read(form, "dedup-window")?
        && window != own.dedup_window
    {
        patch = patch.dedup_window(window);
    }
    let (done, dead) = (own.retention.done, own.retention.dead);
    let retention = own.retention.done(kept(form, "keep-done", done)?);
    let retention = retention.dead(kept(form, "keep-dead", dead)?);
    Ok(if retention == own.retention { patch } else { patch.retention(retention) })
}

fn kept(form: &Form, name: &'static str, was: Keep) -> Result<Keep, Failure> {
    let age = read::<OrNone<Span>>(form, name)?;
    Ok(age.map_or(was, |OrNone(age)| was.max_age(age.map(|Span(age)| age))))
}

/// The value of a field; none if it was not sent.
fn read<T>(form: &Form, name: &'static str) -> Result<Option<T>, Failure>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let text = form.get(name).trim();
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = |error| Problem::invalid(name, format!("{name}: {error}")).into();
    text.parse().map(Some).map_err(wrong)
}
