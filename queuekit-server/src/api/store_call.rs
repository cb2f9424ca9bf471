//! Calls of the store that take a place of their key.

use super::app::App;
use super::quota_charge::run_to_end;
use crate::web::memory_budget::RequestBudget;
use crate::web::store_calls::CallSort;
use crate::web::{Caller, Problem};

/// Calls the store when it may have a call with this many items of the key. From then on the call
/// runs to its end and keeps its place and memory even if the client disconnects: otherwise a key
/// could fill the store by disconnecting.
pub(super) async fn in_store<T: Send + 'static>(
    app: &App,
    caller: &Caller,
    (sort, items): (CallSort, usize),
    budget: RequestBudget,
    calling: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    let place = app.limits().store_calls.place(sort, caller, items).await?;
    run_to_end(async move {
        let _held = (place, budget);
        calling.await
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use axum::Router;
    use axum::body::Body;
    use axum::http::{Request, StatusCode};
    use http_body_util::BodyExt as _;
    use queuekit::jobs::LeaseToken;
    use queuekit::memory::MemoryStore;
    use queuekit::schedules::ScheduleDraft;
    use queuekit::store::Nonce;
    use queuekit::{Client, JobDraft, JobId, QueueName, Timestamp};
    use serde_json::{Value, json};
    use tokio::sync::Semaphore;
    use tokio::task::JoinHandle;
    use tokio::time::{sleep, timeout};
    use tokio_util::sync::CancellationToken;
    use tower::ServiceExt as _;

    use super::*;
    use crate::api::routes;
    use crate::api::test_app::app_of;
    use crate::config::{HttpFlags, Sources};
    use crate::web::Scope;
    use crate::web::auth::tests::caller_of;
    use crate::web::fair_share::ShareSize;
    use crate::web::keys::{Keys, NewKey};
    use crate::web::limits::LiveLimits;
    use crate::web::lookups::lookup_turn;
    use crate::wire::BATCH;

    /// The clock of these tests moves only when every task waits, so after this nothing is left to
    /// do.
    const ALL_IS_DONE: Duration = Duration::from_millis(1);

    /// Calls of a store that answers when it gets a permit.
    #[derive(Clone)]
    struct Held {
        app: App,
        began: Arc<AtomicUsize>,
        gate: Arc<Semaphore>,
    }

    impl Held {
        fn new() -> Self {
            let app = app_of(Client::new(MemoryStore::new()));
            Self { app, began: Arc::default(), gate: Arc::new(Semaphore::new(0)) }
        }

        /// A call with this many items.
        fn call(
            &self,
            key: &str,
            sort: CallSort,
            items: usize,
        ) -> JoinHandle<Option<&'static str>> {
            let (held, caller) = (self.clone(), caller_of(key, 1));
            let answer = async move {
                held.began.fetch_add(1, Ordering::SeqCst);
                held.gate.acquire().await.expect("open").forget();
                Ok(())
            };
            let app = self.app.clone();
            tokio::spawn(async move {
                let budget = app.no_budget(&caller);
                let done = in_store(&app, &caller, (sort, items), budget, answer).await;
                done.err().map(|problem| problem.kind())
            })
        }

        async fn began(&self) -> usize {
            sleep(ALL_IS_DONE).await;
            self.began.load(Ordering::SeqCst)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn s6_a_key_has_two_batches_in_the_store_and_calls_of_others_are_next() {
        let held = Held::new();
        let batches: Vec<_> = (0..4).map(|_| held.call("a", CallSort::Enqueue, BATCH)).collect();
        assert_eq!(held.began().await, 2);
        held.call("b", CallSort::Enqueue, BATCH);
        assert_eq!(held.began().await, 3, "the other key does not wait");
        held.call("a", CallSort::Settle, 1);
        assert_eq!(held.began().await, 4, "nor does the key's ack");
        held.gate.add_permits(1);
        assert_eq!(held.began().await, 5, "the next one follows");
        held.gate.add_permits(5);
        assert_eq!(held.began().await, 6);
        for batch in batches {
            assert_eq!(batch.await.unwrap(), None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn s6_who_disconnects_gets_no_further_place_in_the_store() {
        let held = Held::new();
        let batches: Vec<_> = (0..5).map(|_| held.call("a", CallSort::Enqueue, BATCH)).collect();
        assert_eq!(held.began().await, 2);
        for gone in &batches[..4] {
            gone.abort();
        }
        assert_eq!(held.began().await, 2, "the store still has their calls");
        held.gate.add_permits(2);
        assert_eq!(held.began().await, 3, "those that only waited are gone");
    }

    #[tokio::test(start_paused = true)]
    async fn s6_a_call_that_waits_too_long_for_its_place_is_refused() {
        let held = Held::new();
        let batches: Vec<_> = (0..3).map(|_| held.call("a", CallSort::Enqueue, BATCH)).collect();
        let last = batches.into_iter().last().expect("three");
        let answer = timeout(Duration::from_secs(60), last).await.expect("an answer");
        assert_eq!(answer.unwrap(), Some("rate_limited"));
        assert_eq!(held.began().await, 2);
    }

    const BEAT: &str = r#"{"id": "w", "name": "w", "queues": ["q"], "kinds": [], "slots": 1,
        "running": 0, "ttl_ms": 30000}"#;
    const CALLS: [(CallSort, &str, &str, &str); 10] = [
        (CallSort::Enqueue, "POST", "/v1/jobs", r#"{"jobs": [{"kind": "k"}]}"#),
        (CallSort::Enqueue, "POST", "/v1/events", r#"{"events": [{"type": "t"}]}"#),
        (CallSort::Reserve, "POST", "/v1/reserve", r#"{"queues": ["q"], "worker": "w"}"#),
        (CallSort::Settle, "POST", "/v1/ack", r#"{"acks": []}"#),
        (CallSort::Settle, "POST", "/v1/nack", r#"{"nacks": []}"#),
        (CallSort::Extend, "POST", "/v1/extend", r#"{"tokens": [], "lease_ms": 1000}"#),
        (CallSort::Extend, "POST", "/v1/report", r#"{"reports": []}"#),
        (CallSort::Extend, "POST", "/v1/beat", BEAT),
        (CallSort::Change, "PATCH", "/v1/queues/q", r#"{"per_key": 2}"#),
        (CallSort::Change, "POST", "/v1/queues/q/pause", ""),
    ];

    /// All routes, and a key for each of these ids.
    fn server<const N: usize>(ids: [&str; N]) -> (Router, Arc<LiveLimits>, [String; N]) {
        server_of(Client::new(MemoryStore::new()), ids)
    }

    fn server_of<const N: usize>(
        client: Client,
        ids: [&str; N],
    ) -> (Router, Arc<LiveLimits>, [String; N]) {
        let keys = ids.map(|id| NewKey::draw(id, vec![Scope::Admin]).unwrap());
        let secrets = keys.each_ref().map(|key| key.secret.to_string());
        let mut options = HttpFlags::default().resolve(&Sources::default()).unwrap();
        options.keys = Keys::new(keys.into_iter().map(|key| key.entry).collect(), None);
        let limits = LiveLimits::new(&options.limits);
        let stopping = CancellationToken::new();
        (routes(client, &options, Arc::clone(&limits), stopping).routes, limits, secrets)
    }

    /// The status of the answer; none if the call waits.
    async fn ask(
        server: &Router,
        secret: &str,
        method: &str,
        path: &str,
        body: &str,
    ) -> Option<StatusCode> {
        ask_within(ALL_IS_DONE, server, secret, method, path, body).await
    }

    async fn ask_within(
        time: Duration,
        server: &Router,
        secret: &str,
        method: &str,
        path: &str,
        body: &str,
    ) -> Option<StatusCode> {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("authorization", format!("Bearer {secret}"));
        let request = request.header("host", "localhost");
        let request = request.header("content-type", "application/json");
        let request = request.body(Body::from(body.to_owned())).unwrap();
        let answer = timeout(time, server.clone().oneshot(request)).await;
        answer.ok().map(|answer| answer.unwrap().status())
    }

    /// Guard of each route: a call takes its place.
    #[tokio::test(start_paused = true)]
    async fn s6_each_call_that_may_be_large_takes_a_place_of_its_key() {
        let client = Client::new(MemoryStore::new());
        let (server, limits, [own, other]) = server_of(client.clone(), ["a", "b"]);
        let queue = QueueName::default();
        let id = JobId::generate(&queue, Timestamp::default());
        let lease = LeaseToken { queue, id, lease_seq: 1, nonce: Nonce::from_bytes([1; 16]) };
        let token = lease.to_secret_string();
        let step = json!({"token": token, "name": "s"}).to_string();
        let steps = json!({"token": token}).to_string();
        let of_steps = [
            (CallSort::Extend, "POST", "/v1/checkpoint", &*step),
            (CallSort::Extend, "POST", "/v1/checkpoints", &*steps),
        ];
        let schedule = ScheduleDraft::cron("s", "0 0 * * *", JobDraft::new("t", "1"));
        client.schedule(schedule).await.unwrap();
        let run = (CallSort::Enqueue, "POST", "/v1/schedules/s/run", "");
        for (sort, method, path, body) in CALLS.into_iter().chain(of_steps).chain([run]) {
            let ask = async |secret: &str| ask(&server, secret, method, path, body).await;
            let is_ok =
                |status: Option<StatusCode>| status.is_some_and(|status| status.is_success());
            let all = limits.store_calls.place(sort, &caller_of("a", 1), usize::MAX).await.unwrap();
            assert_eq!(ask(&own).await, None, "{path} waits");
            assert!(is_ok(ask(&other).await), "{path} of another key");
            drop(all);
            let answer = ask(&own).await;
            assert!(is_ok(answer), "{path}: {answer:?}");
        }
    }

    /// Guard: the turn, which other keys do not wait for. To write an answer blocks its thread, so
    /// the test has several, and a clock that runs.
    #[tokio::test(flavor = "multi_thread")]
    async fn s6_a_key_has_one_thing_at_a_time_that_the_store_has_to_add_up() {
        let (server, _, [own, other]) = server(["lookups.own", "lookups.other"]);
        let paths = [
            "/v1/queues",
            "/v1/queues/q",
            "/v1/workers",
            "/v1/subscriptions",
            "/v1/subscriptions/c",
            "/v1/schedules/s/next",
            "/v1/scale",
            "/v1/findings",
            "/v1/history",
            "/v1/schedules",
            "/v1/errors",
            "/v1/errors?queue=q",
            "/v1/jobs/00000000-0000-7000-8000-000000000000/why",
        ];
        for path in paths {
            let ask = async |secret, time| ask_within(time, &server, secret, "GET", path, "").await;
            let (soon, ever) = (Duration::from_millis(20), Duration::from_secs(5));
            let turn = lookup_turn(&caller_of("lookups.own", 1)).await.unwrap();
            assert_eq!(ask(&own, soon).await, None, "{path} waits");
            let answered = ask(&other, ever).await;
            assert!(answered.is_some(), "{path} of another key");
            drop(turn);
            assert_eq!(ask(&own, ever).await, answered, "{path}");
        }
    }

    /// Guard: the places of a reserve, and that they are no more than a key may have.
    #[tokio::test(start_paused = true)]
    async fn s6_a_reserve_takes_a_place_for_each_50_queues() {
        let (server, limits, [own]) = server(["a"]);
        let poll = async |queues: usize| {
            let queues: Vec<_> = (0..queues).map(|n| format!("q{n}")).collect();
            let body = json!({"queues": queues, "worker": "w", "wait_ms": 1}).to_string();
            ask(&server, &own, "POST", "/v1/reserve", &body).await
        };
        let key = caller_of("a", 1);
        let mut held: Vec<_> = std::iter::from_fn(|| limits.polls.take(&key).ok()).collect();
        assert_eq!(poll(1).await, Some(StatusCode::TOO_MANY_REQUESTS));
        held.pop();
        // One that waits gets no answer yet.
        assert_eq!(poll(50).await, None);
        assert_eq!(poll(51).await, Some(StatusCode::TOO_MANY_REQUESTS));
        held.pop();
        assert_eq!(poll(51).await, None);
        limits.polls.resize(ShareSize { all: 4, of_key: 1 });
        held.clear();
        assert_eq!(poll(1000).await, None, "it takes all places of its key");
        let look = async |queues: usize| {
            let queues: Vec<_> = (0..queues).map(|n| format!("q{n}")).collect();
            let body = json!({"queues": queues, "worker": "w"}).to_string();
            ask(&server, &own, "POST", "/v1/reserve", &body).await
        };
        let mut held: Vec<_> = std::iter::from_fn(|| limits.looks.take(&key).ok()).collect();
        held.pop();
        assert_eq!(look(50).await, Some(StatusCode::OK));
        assert_eq!(look(51).await, Some(StatusCode::TOO_MANY_REQUESTS));
    }

    #[tokio::test(start_paused = true)]
    async fn s6_large_items_take_places_by_their_bytes_and_a_small_single_job_takes_none() {
        const KIB: usize = 1024;
        let (server, limits, [own, _]) = server(["a", "b"]);
        let post = async |path: &str, body: String| {
            let status = ask(&server, &own, "POST", path, &body).await?;
            assert_eq!(status, StatusCode::CREATED, "{path}");
            Some(())
        };
        let text = |kib: usize| "x".repeat(kib * KIB);
        let job = |kib| format!(r#"{{"kind": "k", "payload": "{}"}}"#, text(kib));
        let jobs = |kib| format!(r#"{{"jobs": [{}, {}]}}"#, job(kib / 2), job(kib / 2));
        let event = |kib| format!(r#"{{"type": "t", "data": "{}"}}"#, text(kib));
        let sends: [(&str, &dyn Fn(usize) -> String); 4] =
            [("/v1/jobs", &job), ("/createJob", &job), ("/v1/jobs", &jobs), ("/v1/events", &event)];
        for (path, sized) in sends {
            let (sort, key) = (CallSort::Enqueue, caller_of("a", 1));
            let most = limits.store_calls.place(sort, &key, 2 * BATCH - 50).await.unwrap();
            assert_eq!(post(path, sized(190)).await, Some(()), "{path} has room");
            assert_eq!(post(path, sized(210)).await, None, "{path} waits");
            drop(most);
            assert_eq!(post(path, sized(210)).await, Some(()), "{path} has room");
        }
        let key = caller_of("a", 1);
        let _all = limits.store_calls.place(CallSort::Enqueue, &key, usize::MAX).await.unwrap();
        assert_eq!(post("/v1/jobs", job(15)).await, Some(()), "it is merged with others");
        assert_eq!(post("/v1/jobs", job(16)).await, None);
    }

    /// Guard: a call counts its queues, of which each is a script of its own on Redis.
    #[tokio::test(start_paused = true)]
    async fn s6_a_call_about_many_queues_takes_more_places_than_one_about_a_queue() {
        type BodyOf<'a> = &'a dyn Fn(&[Value]) -> Value;
        let (server, limits, [own]) = server(["a"]);
        let post = async |path: &str, body: Value| {
            let request = Request::builder().method("POST").uri(path);
            let request = request.header("authorization", format!("Bearer {own}"));
            let request = request.header("host", "localhost");
            let request = request.header("content-type", "application/json");
            let request = request.body(Body::from(body.to_string())).unwrap();
            let answer = timeout(ALL_IS_DONE, server.clone().oneshot(request)).await.ok()?.unwrap();
            assert!(answer.status().is_success(), "{path}: {}", answer.status());
            let bytes = answer.into_body().collect().await.unwrap().to_bytes();
            serde_json::from_slice::<Value>(&bytes).ok()
        };
        let jobs = |queues: u32| -> Vec<Value> {
            (0..4).map(|n| json!({"kind": "k", "queue": format!("q{}", n % queues)})).collect()
        };
        let mut of_queues = Vec::new();
        for queues in [1, 4] {
            post("/v1/jobs", json!({"jobs": jobs(queues)})).await.unwrap();
            let names: Vec<_> = (0..queues).map(|n| format!("q{n}")).collect();
            let wanted = json!({"queues": names, "worker": "w", "limit": 4});
            let reserved = post("/v1/reserve", wanted).await.unwrap();
            let leases = reserved["leases"].as_array().unwrap().iter();
            of_queues.push(leases.map(|lease| lease["token"].clone()).collect::<Vec<_>>());
            assert_eq!(of_queues.last().unwrap().len(), 4);
        }
        let each = |field: &str, tokens: &[Value]| -> Vec<Value> {
            tokens.iter().map(|token| json!({field: token})).collect()
        };
        let calls: [(CallSort, &str, BodyOf<'_>); 4] = [
            (CallSort::Extend, "/v1/extend", &|all| json!({"tokens": all, "lease_ms": 1000})),
            (CallSort::Extend, "/v1/report", &|all| json!({"reports": each("token", all)})),
            (CallSort::Settle, "/v1/ack", &|all| json!({"acks": each("token", all)})),
            (CallSort::Settle, "/v1/nack", &|all| json!({"nacks": each("token", all)})),
        ];
        let [one, four] = &of_queues[..] else { panic!("two") };
        for (sort, path, body) in calls {
            let key = caller_of("a", 1);
            let room = if sort as usize == CallSort::Extend as usize { 63 } else { 50 };
            let most = limits.store_calls.place(sort, &key, 2 * BATCH - room).await.unwrap();
            assert!(post(path, body(one)).await.is_some(), "{path} has room");
            assert!(post(path, body(four)).await.is_none(), "{path} of four queues waits");
            drop(most);
            assert!(post(path, body(four)).await.is_some(), "{path} has room");
        }
        let reserve = async |queues: u32| {
            let queues: Vec<_> = (0..queues).map(|n| format!("q{n}")).collect();
            post("/v1/reserve", json!({"queues": queues, "worker": "w"})).await
        };
        let key = caller_of("a", 1);
        let most = limits.store_calls.place(CallSort::Reserve, &key, 2 * BATCH - 63).await;
        assert!(reserve(1).await.is_some(), "there is room");
        assert!(reserve(5).await.is_none(), "a reserve of five queues waits");
        drop(most);
        let _most = limits.store_calls.place(CallSort::Enqueue, &key, 2 * BATCH - 50).await;
        assert!(post("/v1/jobs", json!({"jobs": jobs(1)})).await.is_some());
        assert!(post("/v1/jobs", json!({"jobs": jobs(4)})).await.is_none());
    }
}
