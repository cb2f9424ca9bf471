//! Queues: figures and settings.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use queuekit::{QueueName, QueuePatch};
use serde::Serialize;
use utoipa::ToSchema;

use super::app::App;
use super::audit::{audited, json};
use super::creating::Counted;
use super::jobs::list::{PageBody, page};
use super::params::{Force, JobQuery, Named, Params};
use super::wire::{PatchBody, QueueBody, SettingsBody};
use crate::http::{Caller, Json, Problem, Scope, ToAdmin, held};

/// All queues.
#[derive(Serialize, ToSchema)]
#[schema(as = Queues)]
pub(super) struct QueuesBody {
    queues: Vec<QueueBody>,
}

/// Every queue ever used or configured, with its figures.
#[utoipa::path(
    get, path = "/v1/queues", tag = "queues", security(("key" = [])),
    responses((status = 200, description = "By name.", body = QueuesBody))
)]
pub(super) async fn list_queues(
    State(app): State<App>,
    caller: Caller,
) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    let room = app.room(&caller).await?;
    let body = QueuesBody { queues: figures(&app, &caller).await? };
    held::answer(room, serde_json::to_vec(&body).unwrap_or_default()).await
}

/// A queue with its figures.
#[utoipa::path(
    get, path = "/v1/queues/{name}", tag = "queues", security(("key" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 200, description = "The queue.", body = QueueBody),
        (status = 404, description = "Nobody has used it."),
    )
)]
pub(super) async fn get_queue(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<QueueName>,
) -> Result<Answer<QueueBody>, Problem> {
    caller.need(Scope::Read)?;
    let is_seen = caller.sees_queue(name.as_str());
    let found = if is_seen { app.store().find_queues(&[name]).await?.pop() } else { None };
    let found = found.as_ref().map(QueueBody::of);
    found.map(Answer).ok_or_else(|| Problem::not_found("queue"))
}

/// The jobs of a queue, a page at a time.
#[utoipa::path(
    get, path = "/v1/queues/{name}/jobs", tag = "queues", security(("key" = [])),
    params(("name" = String, Path), JobQuery),
    responses((status = 200, description = "A page.", body = PageBody))
)]
pub(super) async fn jobs_of_queue(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<QueueName>,
    Params(query): Params<JobQuery>,
) -> Result<Response, Problem> {
    if query.queue.is_some() {
        return Err(Problem::invalid("queue", "the queue stands in the path"));
    }
    page(&app, &caller, query.filter()?.queue(name)).await
}

/// Nothing is reserved in it until it is resumed.
#[utoipa::path(
    post, path = "/v1/queues/{name}/pause", tag = "queues", security(("key" = [])),
    params(("name" = String, Path)),
    responses((status = 200, description = "The settings that hold now.", body = SettingsBody))
)]
pub(super) async fn pause(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<QueueName>,
) -> Result<Answer<SettingsBody>, Problem> {
    change(&app, &caller, &name, QueuePatch::default().paused(true)).await
}

/// Ends a pause.
#[utoipa::path(
    post, path = "/v1/queues/{name}/resume", tag = "queues", security(("key" = [])),
    params(("name" = String, Path)),
    responses((status = 200, description = "The settings that hold now.", body = SettingsBody))
)]
pub(super) async fn resume(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<QueueName>,
) -> Result<Answer<SettingsBody>, Problem> {
    change(&app, &caller, &name, QueuePatch::default().paused(false)).await
}

/// Changes settings, and creates the queue if there is none.
#[utoipa::path(
    patch, path = "/v1/queues/{name}", tag = "queues", security(("key" = [])),
    params(("name" = String, Path)),
    request_body(content = PatchBody, content_type = "application/json"),
    responses((status = 200, description = "The settings that hold now.", body = SettingsBody))
)]
pub(super) async fn configure(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<QueueName>,
    Json(PatchBody(patch), ..): Json<ToAdmin, PatchBody>,
) -> Result<Answer<SettingsBody>, Problem> {
    change(&app, &caller, &name, patch).await
}

/// Removes an empty queue; with force, one with jobs of which none runs.
#[utoipa::path(
    delete, path = "/v1/queues/{name}", tag = "queues", security(("key" = [])),
    params(("name" = String, Path), Force),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "There is none."),
        (status = 409, description = "It is not empty, or jobs run."),
    )
)]
pub(super) async fn remove_queue(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<QueueName>,
    Params(Force { force }): Params<Force>,
) -> Result<StatusCode, Problem> {
    admit(&caller, &name)?;
    let removing = async {
        let removed = app.admin()?.remove_queue(&name, force).await?;
        if removed { Ok(StatusCode::NO_CONTENT) } else { Err(Problem::not_found("queue")) }
    };
    let removed = removing.await;
    name.removed_if(&app, &removed);
    audited(&caller, "remove", format_args!("queue {name}"), removed)
}

/// The figures of those that the caller may see.
pub(super) async fn figures(app: &App, caller: &Caller) -> Result<Vec<QueueBody>, Problem> {
    let queues = app.store().list_queues().await?;
    let seen = queues.iter().filter(|queue| caller.sees_queue(queue.name.as_str()));
    Ok(seen.map(QueueBody::of).collect())
}

async fn change(
    app: &App,
    caller: &Caller,
    name: &QueueName,
    patch: QueuePatch,
) -> Result<Answer<SettingsBody>, Problem> {
    admit(caller, name)?;
    patch.check()?;
    let target = format!("queue {name} {}", json(&patch));
    let settings = app.admin()?.configure(name, &patch).await.map_err(Problem::from);
    audited(caller, "configure", target, settings).map(SettingsBody).map(Answer)
}

/// Settings bear on jobs of every type.
fn admit(caller: &Caller, name: &QueueName) -> Result<(), Problem> {
    caller.need(Scope::Admin)?;
    if caller.is_bound_to_types() {
        return Err(Problem::forbidden("the key is bound to types, and a queue is of them all"));
    }
    caller.need_queue(name.as_str())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use queuekit::memory::{MemoryStore, Operation, When};
    use queuekit::{Client, JobDraft};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::config::{HttpFlags, Sources};
    use crate::http::limits::LiveLimits;

    #[tokio::test]
    async fn s6_who_asks_for_one_queue_has_no_others_looked_at() {
        let store = Arc::new(MemoryStore::new());
        let options = HttpFlags::default().resolve(&Sources::default()).unwrap();
        let limits = LiveLimits::new(&options.limits);
        let client = Client::new(Arc::clone(&store));
        client.enqueue(JobDraft::new("t", "null").queue("own")).await.unwrap();
        let app = App::new(client, options.keys, limits, CancellationToken::new());
        store.faults().fail(Operation::ListQueues, 1, When::Before);
        let get = async |name: &str| {
            let name = Named(QueueName::new(name).unwrap());
            get_queue(State(app.clone()), Caller::operator(), name).await
        };
        assert_eq!(get("own").await.unwrap().name, "own");
        assert_eq!(get("other").await.err().map(|problem| problem.kind()), Some("not_found"));
    }
}
