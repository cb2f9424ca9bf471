//! Who is there.

use std::time::Instant;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use queuekit::capability::{Beat, Served, WorkerInfo};
use queuekit::{Kind, QueueName, WorkerId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ttl;
use crate::api::app::App;
use crate::api::audit::audited;
use crate::api::params::Named;
use crate::api::wire::{bounded, millis};
use crate::http::{Caller, Json, Problem, Scope, ToWork, held};

/// Nobody has as many, and no store has to count further.
const MOST: u32 = 1_000_000;

/// A worker says that it is there.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Beat)]
pub(crate) struct BeatBody {
    /// Of this incarnation: the `worker` of its reserve calls.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    id: String,
    /// Several may share one.
    #[schema(max_length = 128)]
    name: String,
    #[schema(max_items = 100)]
    #[serde(deserialize_with = "bounded")]
    queues: Vec<String>,
    /// It serves more queues than it names.
    #[serde(default)]
    more_queues: bool,
    /// The types it has handlers for.
    #[schema(max_items = 100)]
    #[serde(deserialize_with = "bounded")]
    types: Vec<String>,
    /// It has handlers for more types than it names.
    #[serde(default)]
    more_types: bool,
    /// Jobs it can run at once.
    #[schema(maximum = 1000000)]
    slots: u32,
    /// Jobs it runs.
    #[schema(maximum = 1000000)]
    running: u32,
    /// It is listed for three times this long, which counts as at most 10 minutes.
    #[schema(minimum = 1000, maximum = 43200000)]
    ttl_ms: u64,
}

/// Who has beaten lately.
#[derive(Serialize, ToSchema)]
#[schema(as = Workers)]
pub(crate) struct WorkersBody {
    workers: Vec<WorkerBody>,
}

/// A worker that is there.
#[derive(Serialize, ToSchema)]
#[schema(as = Worker)]
struct WorkerBody {
    id: String,
    name: String,
    queues: Vec<String>,
    /// It serves more queues than it names.
    more_queues: bool,
    types: Vec<String>,
    /// It has handlers for more types than it names.
    more_types: bool,
    slots: u32,
    running: u32,
    /// Since its last beat.
    age_ms: u64,
}

/// Says that a worker is there; nothing else depends on it.
#[utoipa::path(
    post, path = "/v1/beat", tag = "work", security(("key" = [])),
    request_body(content = BeatBody, content_type = "application/json"),
    responses((status = 204, description = "It is listed."))
)]
pub(crate) async fn beat(
    State(app): State<App>,
    caller: Caller,
    Json(body, ..): Json<ToWork, BeatBody>,
) -> Result<StatusCode, Problem> {
    let beat = body.build()?;
    for queue in beat.queues.names() {
        caller.need_queue(queue.as_str())?;
    }
    if caller.is_bound() && (beat.queues.names().is_empty() || beat.queues.has_more()) {
        return Err(Problem::forbidden("the key is bound: name all queues of the worker"));
    }
    need_worker(&app, &caller, &beat.id).await?;
    app.beating().admit(&caller, &beat, app.limits().workers_of_key(), Instant::now())?;
    app.leases()?.beat(&beat).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The workers that have beaten lately.
#[utoipa::path(
    get, path = "/v1/workers", tag = "work", security(("key" = [])),
    responses((status = 200, description = "By id.", body = WorkersBody))
)]
pub(crate) async fn list_workers(
    State(app): State<App>,
    caller: Caller,
) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    let room = app.room(&caller).await?;
    let workers = app.leases()?.list_workers().await?;
    let workers = workers.into_iter().filter_map(|worker| WorkerBody::of(worker, &caller));
    let body = WorkersBody { workers: workers.collect() };
    held::answer(room, serde_json::to_vec(&body).unwrap_or_default()).await
}

/// Takes a worker off the list, as one does that ends. One that still beats comes back.
#[utoipa::path(
    delete, path = "/v1/workers/{id}", tag = "work", security(("key" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "There is none."),
    )
)]
pub(crate) async fn remove_worker(
    State(app): State<App>,
    caller: Caller,
    Named(id): Named<WorkerId>,
) -> Result<StatusCode, Problem> {
    caller.need(Scope::Work)?;
    let removing = async {
        need_worker(&app, &caller, &id).await?;
        let removed = app.leases()?.forget_worker(&id).await?;
        app.beating().forget(&caller, &id);
        if removed { Ok(StatusCode::NO_CONTENT) } else { Err(Problem::not_found("worker")) }
    };
    let removed = removing.await;
    audited(&caller, "remove", format_args!("worker {id}"), removed)
}

/// A key for some queues does not speak for a worker of others.
async fn need_worker(app: &App, caller: &Caller, id: &WorkerId) -> Result<(), Problem> {
    if !caller.is_bound() {
        return Ok(());
    }
    let known = app.leases()?.list_workers().await?;
    let other = known.into_iter().find(|worker| worker.beat.id == *id);
    let hidden = other.is_some_and(|worker| {
        let Beat { queues, .. } = &worker.beat;
        let sees = |queue: &QueueName| caller.sees_queue(queue.as_str());
        queues.has_more() || !queues.names().iter().all(sees)
    });
    if hidden {
        return Err(Problem::forbidden("this id is of a worker that the key is not for"));
    }
    Ok(())
}

impl BeatBody {
    fn build(self) -> Result<Beat, Problem> {
        if self.name.len() > 128 {
            return Err(Problem::invalid("name", "name must be at most 128 bytes"));
        }
        if self.slots > MOST || self.running > MOST {
            let detail = format!("slots and running are at most {MOST}");
            return Err(Problem::invalid("slots", detail));
        }
        let queues: queuekit::Result<_> = self.queues.into_iter().map(QueueName::new).collect();
        let kinds: queuekit::Result<_> = self.types.into_iter().map(Kind::new).collect();
        let queues = queues.and_then(|queues| Served::new(queues, self.more_queues));
        let kinds = kinds.and_then(|kinds| Served::new(kinds, self.more_types));
        let wrong = |field| move |error| Problem::from(error).in_field(field);
        Ok(Beat {
            id: WorkerId::new(self.id).map_err(wrong("id"))?,
            name: self.name,
            queues: queues.map_err(wrong("queues"))?,
            kinds: kinds.map_err(wrong("types"))?,
            slots: self.slots,
            running: self.running,
            ttl: ttl("ttl_ms", self.ttl_ms)?.into(),
        })
    }
}

impl WorkerBody {
    /// With the queues that the caller may see; none if it serves others only.
    fn of(worker: WorkerInfo, caller: &Caller) -> Option<Self> {
        let Beat { id, name, queues, kinds, slots, running, .. } = worker.beat;
        let seen = queues.names().iter().filter(|queue| caller.sees_queue(queue.as_str()));
        let seen: Vec<String> = seen.map(ToString::to_string).collect();
        if seen.is_empty() && !queues.names().is_empty() && !queues.has_more() {
            return None;
        }
        let types = kinds.names().iter().filter(|kind| caller.sees_type(kind.as_str()));
        Some(Self {
            id: id.into(),
            name,
            queues: seen,
            more_queues: queues.has_more(),
            types: types.map(ToString::to_string).collect(),
            more_types: kinds.has_more(),
            slots,
            running,
            age_ms: millis(worker.age),
        })
    }
}
