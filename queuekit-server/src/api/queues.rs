//! Queues: figures and settings.

pub(super) mod list;

use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use queuekit::QueueName;
use queuekit::queues::{Queue, QueuePatch, QueueSettings};

use super::app::App;
use super::audit::{audited, json};
use super::jobs::list::page;
use super::params::{Force, Named, Params};
use super::quota_charge::{QuotaCharge, QuotaCounted, with_quota};
use crate::web::lookups::lookup_turn;
use crate::web::{AdminScope, Caller, Json, OptionalJson, Problem, Scope};
use crate::wire::{JobQuery, JobsBody, PauseBody};

/// How long a change of how a queue treats its partition keys waits for those before it.
const KEY_CHANGES_MAX: Duration = Duration::from_secs(30);

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
    use crate::api::test_app::app_of;
    use crate::config::{HttpFlags, Sources};
    use crate::web::auth::tests::{caller_for, caller_of};
    use crate::web::keys::{Keys, NewKey};
    use crate::web::limits::LiveLimits;

    /// Guard: eight such changes of one key at once took longer than a lease, and one after the
    /// other kept those of others out.
    #[tokio::test(start_paused = true)]
    async fn s6_a_key_makes_one_change_that_concerns_all_partition_keys_and_leaves_a_place() {
        let app = app_of(Client::new(MemoryStore::new()));
        let (caller, name) = (caller_for("*", Scope::Admin), QueueName::default());
        let ends_soon = async |patch: QueuePatch| {
            let changing = change(&app, &caller, &name, patch);
            tokio::time::timeout(Duration::from_secs(1), changing).await.is_ok_and(|it| it.is_ok())
        };
        let changes = &app.limits().key_changes;
        let turn = async |key| changes.wait(&caller_of(key, 1), Duration::ZERO).await;
        let other = turn("other").await;
        assert!(other.is_ok() && turn("other").await.is_err(), "one of a key");
        let per_key = QueuePatch::default().per_key(2);
        assert!(ends_soon(per_key.clone()).await);
        let third = turn("third").await;
        assert!(third.is_ok() && ends_soon(QueuePatch::default().paused(true)).await);
        assert!(!ends_soon(per_key.clone()).await);
        drop(other);
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
