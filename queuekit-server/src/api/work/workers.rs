//! Presence of workers: beats, and the list of workers.

use std::time::Instant;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use queuekit::QueueName;
use queuekit::jobs::{Kind, PageSize};
use queuekit::store::backend::AnswerBytes;
use queuekit::workers::{Beat, Served, WorkerId, WorkerInfo};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::ttl;
use crate::api::app::App;
use crate::api::audit::audited;
use crate::api::params::{Named, Params};
use crate::api::quota_charge::run_to_end;
use crate::web::{Caller, Json, Problem, Scope, WorkScope, response_budget};
use crate::wire::{WorkerBody, WorkersBody, bounded, millis};

/// More slots than any worker has; stores need not count further.
const MOST: u32 = 1_000_000;

/// A beat, which announces a worker.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Beat)]
pub(crate) struct BeatBody {
    /// Id of this process or incarnation: the `worker` of its reserve calls.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    id: String,
    /// Name for people; several workers may share it.
    #[schema(max_length = 128)]
    name: String,
    #[schema(max_items = 100)]
    #[serde(deserialize_with = "bounded")]
    queues: Vec<String>,
    /// Whether it serves more queues than it names.
    #[serde(default)]
    more_queues: bool,
    /// The kinds it has handlers for.
    #[schema(max_items = 100)]
    #[serde(alias = "types", deserialize_with = "bounded")]
    kinds: Vec<String>,
    /// It has handlers for more kinds than it names.
    #[serde(default, alias = "more_types")]
    more_kinds: bool,
    /// Jobs that it can run at once.
    #[schema(maximum = 1000000)]
    slots: u32,
    /// Jobs that it runs.
    #[schema(maximum = 1000000)]
    running: u32,
    /// The worker is listed for three times this long; more than 10 minutes counts as 10 minutes.
    #[schema(minimum = 1000, maximum = 43200000)]
    ttl_ms: u64,
}

/// Announces a worker, so that it is listed. Nothing else depends on it.
#[utoipa::path(
    post, path = "/v1/beat", tag = "work", security(("key" = [])),
    request_body(content = BeatBody, content_type = "application/json"),
    responses((status = 204, description = "The worker is listed."))
)]
pub(crate) async fn beat(
    State(app): State<App>,
    caller: Caller,
    Json(body, ..): Json<WorkScope, BeatBody>,
) -> Result<StatusCode, Problem> {
    let beat = body.build()?;
    for queue in beat.queues.names() {
        caller.need_queue(queue.as_str())?;
    }
    for kind in beat.kinds.names() {
        caller.need_kind(kind.as_str())?;
    }
    if caller.is_bound() && (beat.queues.names().is_empty() || beat.queues.has_more()) {
        return Err(Problem::forbidden("the key is restricted: name all queues of the worker"));
    }
    if caller.is_bound_to_kinds() && beat.kinds.has_more() {
        return Err(Problem::forbidden("the key is restricted: name all kinds of the worker"));
    }
    // To its end, even if the client disconnects: a worker that is not counted might be listed a
    // moment later.
    run_to_end(announce(app, caller, beat)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn announce(app: App, caller: Caller, beat: Beat) -> Result<(), Problem> {
    let _turn = app.worker_limit().turns.of(&beat.id).await;
    need_worker(&app, &caller, &beat.id).await?;
    app.worker_limit().admit(&caller, &beat, app.limits().workers_of_key(), Instant::now())?;
    Ok(app.leases()?.beat(&beat).await?)
}

/// The start of a page, and how many workers it has at most.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct WorkersQuery {
    /// `after` of the previous page: workers behind this id.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    after: Option<String>,
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
}

/// Lists the workers that have sent a beat recently by id, a page at a time.
#[utoipa::path(
    get, path = "/v1/workers", tag = "work", security(("key" = [])), params(WorkersQuery),
    responses((status = 200, description = "A page.", body = WorkersBody))
)]
pub(crate) async fn list_workers(
    State(app): State<App>,
    caller: Caller,
    Params(query): Params<WorkersQuery>,
) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    let after = query.after.map(WorkerId::new).transpose()?;
    let limit = query.limit.map(PageSize::new).transpose()?.unwrap_or_default();
    let budget = app.budget(&caller).await?;
    let body = page_of_workers(&app, &caller, after, limit).await?;
    response_budget::answer(budget, serde_json::to_vec(&body).unwrap_or_default()).await
}

/// A page of the workers that the caller may see. It ends only at such a worker, because `after`
/// names it.
async fn page_of_workers(
    app: &App,
    caller: &Caller,
    mut after: Option<WorkerId>,
    limit: PageSize,
) -> Result<WorkersBody, Problem> {
    let (mut workers, mut bytes) = (Vec::new(), AnswerBytes::default());
    loop {
        let page = app.leases()?.list_workers(after.as_ref(), limit).await?;
        for worker in page.workers {
            let size = worker.bytes();
            let Some(body) = WorkerBody::of(worker, caller) else { continue };
            if workers.len() == limit.get() || !bytes.admit(size) {
                let after = workers.last().map(|last: &WorkerBody| last.id.clone());
                return Ok(WorkersBody { workers, after });
            }
            workers.push(body);
        }
        after = page.after;
        // Whether a restricted key may see more, only further workers of the store show.
        let is_full = workers.len() == limit.get() && !caller.is_bound();
        if after.is_none() || is_full {
            let last = workers.last().filter(|_| after.is_some()).map(|last| last.id.clone());
            return Ok(WorkersBody { workers, after: last });
        }
    }
}

/// Removes a worker from the list, as a worker does when it stops. One that still sends beats is
/// listed again.
#[utoipa::path(
    delete, path = "/v1/workers/{id}", tag = "work", security(("key" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 204, description = "The worker was removed."),
        (status = 404, description = "The worker is not listed."),
    )
)]
pub(crate) async fn remove_worker(
    State(app): State<App>,
    caller: Caller,
    Named(id): Named<WorkerId>,
) -> Result<StatusCode, Problem> {
    caller.need(Scope::Work)?;
    let target = format!("worker {id}");
    audited(&app, &caller, "remove", target, remove(app.clone(), caller.clone(), id)).await
}

async fn remove(app: App, caller: Caller, id: WorkerId) -> Result<StatusCode, Problem> {
    let _turn = app.worker_limit().turns.of(&id).await;
    need_worker(&app, &caller, &id).await?;
    let removed = app.leases()?.forget_worker(&id).await?;
    app.worker_limit().forget(&id);
    if removed { Ok(StatusCode::NO_CONTENT) } else { Err(Problem::not_found("worker")) }
}

/// A key for some queues or kinds cannot replace or remove a worker of others.
async fn need_worker(app: &App, caller: &Caller, id: &WorkerId) -> Result<(), Problem> {
    if !caller.is_bound() {
        return Ok(());
    }
    let known = app.leases()?.find_worker(id).await?;
    let hidden = known.is_some_and(|worker| {
        let Beat { queues, kinds, .. } = &worker.beat;
        let queue = |queue: &QueueName| caller.sees_queue(queue.as_str());
        let kind = |kind: &Kind| caller.sees_kind(kind.as_str());
        queues.has_more()
            || !queues.names().iter().all(queue)
            || (caller.is_bound_to_kinds() && kinds.has_more())
            || !kinds.names().iter().all(kind)
    });
    if hidden {
        let detail = "this worker serves queues or kinds that the key is not for";
        return Err(Problem::forbidden(detail));
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
        let kinds: queuekit::Result<_> = self.kinds.into_iter().map(Kind::new).collect();
        let queues = queues.and_then(|queues| Served::new(queues, self.more_queues));
        let kinds = kinds.and_then(|kinds| Served::new(kinds, self.more_kinds));
        let wrong = |field| move |error| Problem::from(error).in_field(field);
        let id = WorkerId::new(self.id).map_err(wrong("id"))?;
        let queues = queues.map_err(wrong("queues"))?;
        let kinds = kinds.map_err(wrong("kinds"))?;
        let mut beat = Beat::new(id, queues, kinds, ttl("ttl_ms", self.ttl_ms)?);
        beat.name = self.name;
        beat.slots = self.slots;
        beat.running = self.running;
        Ok(beat)
    }
}

impl WorkerBody {
    /// The worker with the queues that the caller may see; `None` if it serves only others.
    fn of(worker: WorkerInfo, caller: &Caller) -> Option<Self> {
        let Beat { id, name, queues, kinds, slots, running, .. } = worker.beat;
        let seen = queues.names().iter().filter(|queue| caller.sees_queue(queue.as_str()));
        let seen: Vec<String> = seen.map(ToString::to_string).collect();
        if seen.is_empty() && !queues.names().is_empty() && !queues.has_more() {
            return None;
        }
        let seen_kinds = kinds.names().iter().filter(|kind| caller.sees_kind(kind.as_str()));
        Some(Self {
            id: id.into(),
            name,
            queues: seen,
            more_queues: queues.has_more(),
            kinds: seen_kinds.map(ToString::to_string).collect(),
            more_kinds: kinds.has_more(),
            slots,
            running,
            age_ms: millis(worker.age),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use queuekit::Client;
    use queuekit::memory::MemoryStore;
    use queuekit::store::{Backend, LeaseTtl};
    use queuekit_conformance::{Layer, Wrapped};
    use tokio::sync::Semaphore;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::config::{HttpFlags, Sources};
    use crate::web::auth::tests::caller_of;
    use crate::web::limits::LiveLimits;

    /// The answer to a removal comes when a permit is there.
    #[derive(Debug)]
    struct SlowAnswer {
        inner: Arc<dyn Backend>,
        gate: Arc<Semaphore>,
    }

    #[queuekit::store::async_trait]
    impl Layer for SlowAnswer {
        fn inner(&self) -> &Arc<dyn Backend> {
            &self.inner
        }

        async fn forget_worker(&self, id: &WorkerId) -> queuekit::Result<bool> {
            let leases = self.inner.capabilities().leases.expect("memory has leases");
            let removed = leases.forget_worker(id).await;
            self.gate.acquire().await.expect("open").forget();
            removed
        }
    }

    async fn settle() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn s6_a_worker_that_beats_while_it_is_removed_counts() {
        let gate = Arc::new(Semaphore::new(0));
        let store = SlowAnswer { inner: Arc::new(MemoryStore::new()), gate: Arc::clone(&gate) };
        let mut options = HttpFlags::default().resolve(&Sources::default()).unwrap();
        options.limits.workers_of_key = 1;
        let limits = LiveLimits::new(&options.limits);
        let client = Client::new(Wrapped(store));
        let app = App::new(client, options.keys, limits, CancellationToken::new());
        let caller = caller_of("a", 1000);
        let id = |name: &str| WorkerId::new(name).unwrap();
        let beat = async |name: &str| {
            let ttl = LeaseTtl::new(Duration::from_secs(10)).unwrap();
            let beat = Beat::new(id(name), Served::first([]), Served::first([]), ttl);
            announce(app.clone(), caller.clone(), beat).await.map_err(|problem| problem.kind())
        };
        beat("one").await.unwrap();
        let removing = tokio::spawn(remove(app.clone(), caller.clone(), id("one")));
        settle().await;
        let opened = async {
            settle().await;
            gate.add_permits(1);
        };
        let (again, ()) = tokio::join!(beat("one"), opened);
        again.unwrap();
        removing.await.unwrap().unwrap();
        assert_eq!(beat("two").await.unwrap_err(), "rate_limited");
    }
}
