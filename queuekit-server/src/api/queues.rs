//! Queues: figures and settings.

use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use queuekit::QueueName;
use queuekit::jobs::PageSize;
use queuekit::queues::{Queue, QueuePatch, QueueSettings};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::app::App;
use super::audit::{audited, json};
use super::jobs::list::page;
use super::params::{Force, Named, Params};
use super::quota_charge::{QuotaCharge, QuotaCounted, with_quota};
use crate::web::lookups::lookup_turn;
use crate::web::{AdminScope, Caller, Json, OptionalJson, Problem, Scope, response_budget};
use crate::wire::{JobQuery, JobsBody, PauseBody};

/// How long a change of how a queue treats its partition keys waits for those before it.
const KEY_CHANGES_MAX: Duration = Duration::from_secs(30);

/// A page of queues.
#[derive(Serialize, ToSchema)]
#[schema(as = Queues)]
pub(super) struct QueuesBody {
    queues: Vec<Queue>,
    /// Send it as `after` for the next page; missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<QueueName>,
}

/// The start of a page, and how many queues it has at most.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct QueuesQuery {
    /// `after` of the previous page: queues behind this name.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    after: Option<String>,
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
}

/// Lists queues by name with their figures, a page at a time.
#[utoipa::path(
    get, path = "/v1/queues", tag = "queues", security(("key" = [])), params(QueuesQuery),
    responses((status = 200, description = "A page.", body = QueuesBody))
)]
pub(super) async fn list_queues(
    State(app): State<App>,
    caller: Caller,
    Params(query): Params<QueuesQuery>,
) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    let after = query.after.map(QueueName::new).transpose()?;
    let limit = query.limit.map(PageSize::new).transpose()?.unwrap_or_default();
    let (budget, turn) = app.look_up(&caller).await?;
    let body = page_of_queues(&app, &caller, after, limit).await?;
    drop(turn);
    response_budget::answer(budget, &body).await
}

/// Gets a queue with its figures.
#[utoipa::path(
    get, path = "/v1/queues/{name}", tag = "queues", security(("key" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 200, description = "The queue.", body = Queue),
        (status = 404, description = "The queue does not exist."),
    )
)]
pub(super) async fn get_queue(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<QueueName>,
) -> Result<Answer<Queue>, Problem> {
    caller.need(Scope::Read)?;
    let is_seen = caller.sees_queue(name.as_str());
    if !is_seen {
        return Err(Problem::not_found("queue"));
    }
    let _turn = lookup_turn(&caller).await?;
    let found = app.store().find_queues(&[name]).await?.pop();
    found.map(Answer).ok_or_else(|| Problem::not_found("queue"))
}

/// Lists the jobs of a queue, a page at a time.
#[utoipa::path(
    get, path = "/v1/queues/{name}/jobs", tag = "queues", security(("key" = [])),
    params(("name" = String, Path), JobQuery),
    responses((status = 200, description = "A page.", body = JobsBody))
)]
pub(super) async fn jobs_of_queue(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<QueueName>,
    query: JobQuery,
) -> Result<Response, Problem> {
    if query.filter.queue.is_some() {
        return Err(Problem::invalid("queue", "leave out `queue`: the path names it"));
    }
    page(&app, &caller, query.filter()?.queue(name)).await
}

/// Pauses a queue: nothing is reserved in it until the pause ends, or the queue is resumed.
#[utoipa::path(
    post, path = "/v1/queues/{name}/pause", tag = "queues", security(("key" = [])),
    params(("name" = String, Path)),
    request_body(content = Option<PauseBody>, content_type = "application/json"),
    responses((status = 200, description = "The settings that now apply.", body = QueueSettings))
)]
pub(super) async fn pause(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<QueueName>,
    OptionalJson(pause, ..): OptionalJson<AdminScope, PauseBody>,
) -> Result<Answer<QueueSettings>, Problem> {
    change(&app, &caller, &name, pause.patch()?).await
}

/// Resumes a paused queue.
#[utoipa::path(
    post, path = "/v1/queues/{name}/resume", tag = "queues", security(("key" = [])),
    params(("name" = String, Path)),
    responses((status = 200, description = "The settings that now apply.", body = QueueSettings))
)]
pub(super) async fn resume(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<QueueName>,
) -> Result<Answer<QueueSettings>, Problem> {
    change(&app, &caller, &name, QueuePatch::default().paused(false)).await
}

/// Changes settings of a queue, and creates it if it does not exist.
#[utoipa::path(
    patch, path = "/v1/queues/{name}", tag = "queues", security(("key" = [])),
    params(("name" = String, Path)),
    request_body(content = QueuePatch, content_type = "application/json"),
    responses((status = 200, description = "The settings that now apply.", body = QueueSettings))
)]
pub(super) async fn configure(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<QueueName>,
    Json(patch, ..): Json<AdminScope, QueuePatch>,
) -> Result<Answer<QueueSettings>, Problem> {
    change(&app, &caller, &name, patch).await
}

/// Removes an empty queue; with `force` also one with jobs, unless any of them is running.
#[utoipa::path(
    delete, path = "/v1/queues/{name}", tag = "queues", security(("key" = [])),
    params(("name" = String, Path), Force),
    responses(
        (status = 204, description = "The queue was removed."),
        (status = 404, description = "The queue does not exist."),
        (status = 409, description = "The queue is not empty, or jobs are running."),
    )
)]
pub(super) async fn remove_queue(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<QueueName>,
    Params(Force { force }): Params<Force>,
) -> Result<StatusCode, Problem> {
    admit(&caller, &name)?;
    let (here, target) = (app.clone(), format!("queue {name}"));
    let removing = async move {
        let removed = app.admin()?.remove_queue(&name, force).await?;
        let removed =
            if removed { Ok(StatusCode::NO_CONTENT) } else { Err(Problem::not_found("queue")) };
        name.removed_if(&app, &removed);
        removed
    };
    audited(&here, &caller, "remove", target, removing).await
}

/// A page of the queues that the caller may see. It ends only at such a queue, because `after`
/// names it. The store is not asked for queues that the caller's key cannot be for. With a pattern
/// such as `*.mail`, that may be any queue: the store is asked for more of them each time, and each
/// time after the first counts towards the key's `per_second`.
async fn page_of_queues(
    app: &App,
    caller: &Caller,
    mut after: Option<QueueName>,
    limit: PageSize,
) -> Result<QueuesBody, Problem> {
    let mut queues: Vec<Queue> = Vec::new();
    let last = |queues: &[Queue]| queues.last().map(|last| last.name.clone());
    let mut at_once = limit;
    while let Some(from) = caller.next_seen(after) {
        let page = app.store().list_queues(from.as_ref(), at_once).await?;
        for queue in page.queues {
            if !caller.sees_queue(queue.name.as_str()) {
                continue;
            }
            if queues.len() == limit.get() {
                let after = last(&queues);
                return Ok(QueuesBody { queues, after });
            }
            queues.push(queue);
        }
        // Whether a restricted key may see more, only further queues of the store show.
        if queues.len() == limit.get() && !caller.is_bound() {
            let after = page.after.and_then(|_| last(&queues));
            return Ok(QueuesBody { queues, after });
        }
        after = page.after;
        if after.is_none() {
            break;
        }
        caller.owe(1);
        at_once = PageSize::new((2 * at_once.get()).min(PageSize::MAX.get()))?;
    }
    Ok(QueuesBody { queues, after: None })
}

async fn change(
    app: &App,
    caller: &Caller,
    name: &QueueName,
    patch: QueuePatch,
) -> Result<Answer<QueueSettings>, Problem> {
    admit(caller, name)?;
    patch.check()?;
    let target = format!("queue {name} {}", json(&patch));
    let new_queue = QuotaCharge::admit(app, caller, std::iter::once(name)).await?;
    let (here, asking, name) = (app.clone(), caller.clone(), name.clone());
    let configuring = async move {
        let changes = &here.limits().key_changes;
        let _turn = match patch.concerns_keys() {
            true => Some(changes.wait(&asking, KEY_CHANGES_MAX).await?),
            false => None,
        };
        here.admin()?.configure(&name, &patch).await.map_err(Problem::from)
    };
    let audited = audited(app, caller, "configure", target, configuring);
    let settings = with_quota(new_queue, audited).await?;
    Ok(Answer(settings.without_notes().into_owned()))
}

/// Settings affect jobs of every kind, so a key for some kinds cannot change them.
pub(super) fn admit(caller: &Caller, name: &QueueName) -> Result<(), Problem> {
    caller.need(Scope::Admin)?;
    if caller.is_bound_to_kinds() {
        let detail = "the key is restricted to kinds, and queue settings affect jobs of all kinds";
        return Err(Problem::forbidden(detail));
    }
    caller.need_queue(name.as_str())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::body::Body;
    use axum::http::Request;
    use queuekit::memory::{MemoryStore, Operation, When};
    use queuekit::store::Backend;
    use queuekit::{Client, JobDraft};
    use queuekit_conformance::{Layer, Wrapped};
    use tokio::sync::Semaphore;
    use tokio_util::sync::CancellationToken;
    use tower::ServiceExt as _;

    use super::*;
    use crate::api::routes;
    use crate::api::test_app::{app_counting, app_of};
    use crate::config::{HttpFlags, Sources};
    use crate::web::auth::tests::{caller_for, caller_of};
    use crate::web::keys::{Keys, NewKey};
    use crate::web::limits::LiveLimits;

    #[tokio::test]
    async fn s6_a_key_for_few_of_many_queues_has_the_store_asked_few_times() {
        let inner: Arc<dyn Backend> = Arc::new(MemoryStore::new());
        let admin = inner.capabilities().admin.expect("memory has administration");
        for queue in 0..3000 {
            let name = QueueName::new(format!("q{queue:04}.{}", queue % 1000)).unwrap();
            admin.configure(&name, &QueuePatch::default()).await.unwrap();
        }
        let (app, pages) = app_counting("list_queues", &inner);
        let caller = caller_for("*.999", Scope::Read);
        let one = PageSize::new(1).unwrap();
        let mut found = Vec::new();
        loop {
            let after = found.last().cloned();
            let page = page_of_queues(&app, &caller, after, one).await.unwrap();
            found.extend(page.queues.into_iter().map(|queue| queue.name));
            let asked = pages.swap(0, Ordering::Relaxed);
            assert!(asked <= 13, "{asked} times for one queue");
            if page.after.is_none() {
                break;
            }
        }
        assert!(caller.spend(1).is_err(), "each page after the first counts");
        assert_eq!(
            found.iter().map(QueueName::as_str).collect::<Vec<_>>(),
            ["q0999.999", "q1999.999", "q2999.999"]
        );
    }

    /// Guard: eight such changes of one key, made in one transaction of SQLite, took longer than a
    /// lease.
    #[tokio::test(start_paused = true)]
    async fn s6_changes_that_concern_all_partition_keys_are_made_one_at_a_time() {
        let app = app_of(Client::new(MemoryStore::new()));
        let (caller, name) = (caller_for("*", Scope::Admin), QueueName::default());
        let ends_soon = async |patch: QueuePatch| {
            let changing = change(&app, &caller, &name, patch);
            tokio::time::timeout(Duration::from_secs(1), changing).await.is_ok_and(|it| it.is_ok())
        };
        let turn = app.limits().key_changes.wait(&caller_of("other", 1), Duration::ZERO).await;
        assert!(turn.is_ok() && ends_soon(QueuePatch::default().paused(true)).await);
        let per_key = QueuePatch::default().per_key(2);
        assert!(!ends_soon(per_key.clone()).await);
        drop(turn);
        assert!(ends_soon(per_key).await);
    }

    #[tokio::test]
    async fn s6_who_asks_for_one_queue_has_no_others_looked_at() {
        let store = Arc::new(MemoryStore::new());
        let client = Client::new(Arc::clone(&store));
        client.enqueue(JobDraft::new("t", "null").queue("own")).await.unwrap();
        let app = app_of(client);
        store.faults().fail(Operation::ListQueues, 1, When::Before);
        let get = async |name: &str| {
            let name = Named(QueueName::new(name).unwrap());
            get_queue(State(app.clone()), Caller::operator(), name).await
        };
        assert_eq!(get("own").await.unwrap().name.as_str(), "own");
        assert_eq!(get("other").await.err().map(|problem| problem.kind()), Some("not_found"));
    }

    /// Look-ups of queues that are answered when the gate has a permit.
    #[derive(Debug)]
    struct Gated {
        inner: Arc<dyn Backend>,
        began: Arc<AtomicUsize>,
        gate: Arc<Semaphore>,
    }

    #[async_trait::async_trait]
    impl Layer for Gated {
        fn inner(&self) -> &Arc<dyn Backend> {
            &self.inner
        }

        async fn find_queues(&self, names: &[QueueName]) -> queuekit::Result<Vec<Queue>> {
            self.began.fetch_add(1, Ordering::SeqCst);
            self.gate.acquire().await.expect("open").forget();
            self.inner.find_queues(names).await
        }
    }

    /// Guard: a look-up takes a turn of its key. The clock moves only when every task waits.
    #[tokio::test(start_paused = true)]
    async fn s6_a_look_up_of_an_operator_is_served_beside_those_of_another_key() {
        let inner: Arc<dyn Backend> = Arc::new(MemoryStore::new());
        let admin = inner.capabilities().admin.expect("memory has administration");
        admin.configure(&"q".parse().unwrap(), &QueuePatch::default()).await.unwrap();
        let (began, gate) = (Arc::<AtomicUsize>::default(), Arc::new(Semaphore::new(0)));
        let gated = Gated { inner, began: Arc::clone(&began), gate: Arc::clone(&gate) };
        let keys = ["looks_up_much", "looks_up_once"];
        let keys = keys.map(|id| NewKey::draw(id, vec![Scope::Read]).unwrap());
        let [busy, operator] = keys.each_ref().map(|key| key.secret.to_string());
        let mut options = HttpFlags::default().resolve(&Sources::default()).unwrap();
        options.keys = Keys::new(keys.into_iter().map(|key| key.entry).collect(), None);
        let (limits, client) = (LiveLimits::new(&options.limits), Client::new(Wrapped(gated)));
        let server = routes(client, &options, limits, CancellationToken::new()).routes;
        let look_up = |secret: &str| {
            let request = Request::builder().uri("/v1/queues/q").header("host", "localhost");
            let request = request.header("authorization", format!("Bearer {secret}"));
            let answer = server.clone().oneshot(request.body(Body::empty()).unwrap());
            tokio::spawn(async move { answer.await.unwrap().status() })
        };
        let all_wait = || tokio::time::sleep(Duration::from_millis(1));
        let many: Vec<_> = (0..20).map(|_| look_up(&busy)).collect();
        all_wait().await;
        assert_eq!(began.load(Ordering::SeqCst), 1, "the others wait for their turn");
        let one = look_up(&operator);
        all_wait().await;
        assert_eq!(began.load(Ordering::SeqCst), 2, "the operator's does not");
        gate.add_permits(21);
        assert_eq!(one.await.unwrap(), 200);
        for answer in many {
            assert_eq!(answer.await.unwrap(), 200);
        }
    }
}
