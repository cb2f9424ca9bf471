//! The list of workers.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use queuekit::QueueName;
use queuekit::jobs::{Kind, PageSize};
use queuekit::store::backend::AnswerBytes;
use queuekit::workers::{Beat, Served, WorkerId, WorkerInfo};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::api::app::App;
use crate::api::audit::audited;
use crate::api::params::{Named, Params};
use crate::web::{Caller, Problem, Scope, response_budget};
use crate::wire::{OrdersBody, RunningBody, Time, WorkerBody, WorkersBody, millis};

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
    let (budget, turn) = app.look_up(&caller).await?;
    let body = page_of_workers(&app, &caller, after, limit).await?;
    drop(turn);
    response_budget::answer(budget, &body).await
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
    let mut at_once = limit;
    loop {
        let page = app.leases()?.list_workers(after.as_ref(), at_once).await?;
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
        // A key for few of many workers reads all of them.
        caller.owe(1);
        at_once = PageSize::new((2 * at_once.get()).min(PageSize::MAX.get()))?;
    }
}

/// Gets a worker that has sent a beat recently, with the jobs that it runs.
#[utoipa::path(
    get, path = "/v1/workers/{id}", tag = "work", security(("key" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, description = "The worker.", body = WorkerBody),
        (status = 404, description = "The worker is not listed."),
    )
)]
pub(crate) async fn get_worker(
    State(app): State<App>,
    caller: Caller,
    Named(id): Named<WorkerId>,
) -> Result<axum::Json<WorkerBody>, Problem> {
    caller.need(Scope::Read)?;
    let found = app.leases()?.find_worker(&id).await?;
    let body = found.and_then(|worker| WorkerBody::of(worker, &caller));
    body.map(axum::Json).ok_or_else(|| Problem::not_found("worker"))
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
pub(super) async fn need_worker(app: &App, caller: &Caller, id: &WorkerId) -> Result<(), Problem> {
    if !caller.is_bound() {
        return Ok(());
    }
    let known = app.leases()?.find_worker(id).await?;
    match known.is_none_or(|worker| may_act_on(caller, &worker.beat)) {
        true => Ok(()),
        false => {
            let detail = "this worker serves queues or kinds that the key is not for";
            Err(Problem::forbidden(detail))
        }
    }
}

/// Whether the key is for all that this worker serves. One that does not say what it serves is for
/// keys without restrictions.
pub(super) fn may_act_on(caller: &Caller, beat: &Beat) -> bool {
    let Beat { queues, kinds, .. } = beat;
    let queue = |queue: &QueueName| caller.sees_queue(queue.as_str());
    let kind = |kind: &Kind| caller.sees_kind(kind.as_str());
    let names_queues = !caller.is_bound() || names_all(queues);
    let names_kinds = !caller.is_bound_to_kinds() || names_all(kinds);
    names_queues
        && names_kinds
        && queues.names().iter().all(queue)
        && kinds.names().iter().all(kind)
}

/// Whether a worker says all that it serves, and serves anything.
pub(super) fn names_all<N>(served: &Served<N>) -> bool {
    !served.names().is_empty() && !served.has_more()
}

/// Whether the worker serves, or may serve, some of the queues and kinds that the key is for.
fn may_see(caller: &Caller, beat: &Beat) -> bool {
    let Beat { queues, kinds, .. } = beat;
    let queue = |queue: &QueueName| caller.sees_queue(queue.as_str());
    // The name of a consumer's queue stands for all kinds.
    let all_kinds =
        |kind: &Kind| queues.names().iter().any(|queue| queue.as_str() == kind.as_str());
    let kind = |kind: &Kind| caller.sees_kind(kind.as_str()) || all_kinds(kind);
    let in_queues = queues.has_more() || queues.names().iter().any(queue);
    let of_kinds = kinds.has_more() || kinds.names().iter().any(kind);
    (in_queues || !caller.is_bound()) && (of_kinds || !caller.is_bound_to_kinds())
}

impl WorkerBody {
    /// The worker with the queues and kinds that the caller may see; `None` if it serves only
    /// others.
    pub(crate) fn of(worker: WorkerInfo, caller: &Caller) -> Option<Self> {
        if !may_see(caller, &worker.beat) {
            return None;
        }
        // A job does not name its queue.
        let sees_jobs = may_act_on(caller, &worker.beat);
        let orders = OrdersBody::of(worker.orders);
        let Beat { id, name, queues, kinds, slots, running, about, quiet_for, .. } = worker.beat;
        let jobs = about.jobs().iter().filter(|_| sees_jobs);
        let seen = queues.names().iter().filter(|queue| caller.sees_queue(queue.as_str()));
        let seen_kinds = kinds.names().iter().filter(|kind| caller.sees_kind(kind.as_str()));
        Some(Self {
            id: id.into(),
            name,
            queues: seen.map(ToString::to_string).collect(),
            more_queues: queues.has_more(),
            kinds: seen_kinds.map(ToString::to_string).collect(),
            more_kinds: kinds.has_more(),
            slots,
            running,
            age_ms: millis(worker.age),
            quiet_ms: millis(quiet_for),
            host: about.host().to_owned(),
            pid: about.pid(),
            version: about.version().to_owned(),
            started_at: about.started_at().map(Time),
            jobs: jobs.map(RunningBody::of).collect(),
            orders,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    use queuekit::Client;
    use queuekit::memory::MemoryStore;
    use queuekit::store::{Backend, LeaseTtl};
    use queuekit_conformance::{Layer, Wrapped};
    use tokio::sync::Semaphore;

    use super::super::beat::announce;
    use super::*;
    use crate::api::test_app::{app_counting, app_with};
    use crate::web::auth::tests::{caller_for, caller_of};

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

    /// Guard: pages double while nothing is found, and count.
    #[tokio::test]
    async fn s6_a_key_for_few_of_many_workers_has_the_store_asked_few_times() {
        let inner: Arc<dyn Backend> = Arc::new(MemoryStore::new());
        let leases = inner.capabilities().leases.expect("memory has leases");
        for number in 0..1000 {
            let id = WorkerId::new(format!("w{number:04}")).unwrap();
            let queue = QueueName::new(if number == 999 { "own" } else { "other" }).unwrap();
            let ttl = LeaseTtl::new(Duration::from_secs(10)).unwrap();
            leases
                .beat(&Beat::new(id, Served::first([queue]), Served::first([]), ttl))
                .await
                .unwrap();
        }
        let (app, pages) = app_counting("list_workers", &inner);
        let caller = caller_for("own", Scope::Read);
        let one = PageSize::new(1).unwrap();
        let page = page_of_workers(&app, &caller, None, one).await.unwrap();
        assert_eq!(page.workers.iter().map(|worker| &*worker.id).collect::<Vec<_>>(), ["w0999"]);
        let asked = pages.load(Ordering::Relaxed);
        assert!(asked <= 11, "{asked} times for one worker");
        assert!(caller.spend(1).is_err(), "each page after the first counts");
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
        let app = app_with(Client::new(Wrapped(store)), |limits| limits.workers_of_key = 1);
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
