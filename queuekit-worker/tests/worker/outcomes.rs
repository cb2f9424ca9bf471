//! What becomes of a job, by what its handler answers.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Fixture, Greet, greet};
use queuekit_core::{JobDraft, RetryPolicy};
use queuekit_worker::{
    BoxFuture, Bytes, Ctx, Handler, Hooks, JobError, JobResult, KindOptions, Middleware, Next,
    Outcome, Worker,
};

#[tokio::test]
async fn a_job_runs_and_its_result_is_stored() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(greet("Ada")).await;
    let handler = |job: Greet, ctx: Ctx| async move {
        assert_eq!((ctx.attempt(), ctx.max_attempts()), (1, 3));
        JobResult::Ok(format!("Hello, {}!", job.name))
    };
    let summary = fixture.worker().handle(handler).run_until_idle().await.unwrap();
    assert_eq!((summary.completed, summary.total()), (1, 1));
    let job = fixture.job(id).await;
    assert_eq!(job.status.as_str(), "completed");
    assert_eq!(job.result.as_deref(), Some(&b"\"Hello, Ada!\""[..]));
}

struct Counting {
    calls: AtomicU32,
}

impl Handler<Greet> for Arc<Counting> {
    type Output = ();

    async fn call(&self, _job: Greet, ctx: Ctx) -> JobResult {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if ctx.is_final_attempt() {
            return Ok(());
        }
        "not yet".parse::<u32>()?;
        Ok(())
    }
}

/// Guard: `consume_raw_with` and `consume_any_with` pass their options on.
#[tokio::test]
async fn an_option_that_no_run_can_keep_is_refused_with_every_kind_of_handler() {
    let fixture = Fixture::new();
    let raw = async |_: Bytes, _: Ctx| JobResult::Ok(None::<Bytes>);
    let none = || KindOptions::new().timeout(Duration::ZERO);
    for worker in [
        fixture.worker().handle_raw_with("greet", raw, none()),
        fixture.worker().consume_with("mailer", async |_: Greet, _: Ctx| JobResult::Ok(()), none()),
        fixture.worker().consume_raw_with("mailer", "greet", raw, none()),
        fixture.worker().consume_any_with("mailer", raw, none()),
    ] {
        let error = worker.start().await.unwrap_err();
        assert!(error.to_string().contains("at least 1 ms"), "{error}");
    }
}

#[tokio::test]
async fn a_failed_job_runs_again_and_keeps_its_history() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(greet("Ada")).await;
    let handler = Arc::new(Counting { calls: AtomicU32::new(0) });
    let worker = fixture.worker().handle(Arc::clone(&handler));
    let summary = worker.run_until_idle().await.unwrap();
    assert_eq!((summary.completed, summary.failed), (1, 2));
    assert_eq!(handler.calls.load(Ordering::SeqCst), 3);
    let job = fixture.job(id).await;
    assert_eq!(job.errors.len(), 2);
    assert_eq!(job.errors[0].error.as_str(), "invalid digit found in string");
    assert_eq!(job.result, None);
}

#[tokio::test]
async fn a_panic_is_a_failed_attempt_with_its_text() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(JobDraft::of(&greet("Ada")).max_attempts(1)).await;
    let other = fixture.enqueue(greet("Bob")).await;
    let handler = |job: Greet, _: Ctx| async move {
        assert_ne!(job.name, "Ada", "no Adas");
        JobResult::Ok(())
    };
    let summary = fixture.worker().handle(handler).run_until_idle().await.unwrap();
    assert_eq!((summary.dead, summary.completed), (1, 1));
    let job = fixture.job(id).await;
    assert_eq!(job.status.as_str(), "dead");
    assert!(job.errors[0].error.as_str().contains("panicked: "), "{:?}", job.errors);
    assert!(job.errors[0].error.as_str().contains("no Adas"), "{:?}", job.errors);
    assert_eq!(fixture.status(other).await, "completed");
}

#[tokio::test]
async fn a_payload_that_does_not_fit_names_its_field() {
    let fixture = Fixture::new();
    let draft = JobDraft::new("greet", r#"{"name": 7}"#).max_attempts(1);
    let id = fixture.enqueue(draft).await;
    let handler = |_: Greet, _: Ctx| async { JobResult::Ok(()) };
    let summary = fixture.worker().handle(handler).run_until_idle().await.unwrap();
    assert_eq!((summary.released, summary.dead), (1, 0));
    let job = fixture.job(id).await;
    let text = &job.undecodable().unwrap().error;
    assert!(text.as_str().contains("name") && text.as_str().contains("string"), "{text}");
}

#[tokio::test]
async fn a_kind_without_handler_is_released_and_spends_no_attempt() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(greet("Ada")).await;
    let summary = fixture.worker().run_until_idle().await.unwrap();
    assert_eq!((summary.released, summary.total()), (1, 1));
    let job = fixture.job(id).await;
    assert_eq!((job.attempts, job.releases, job.errors.len()), (0, 1, 0));
    assert_eq!(job.status.as_str(), "scheduled");
}

#[tokio::test]
async fn each_error_does_what_it_says() {
    let fixture = Fixture::new();
    let handler = |job: Greet, _: Ctx| async move {
        JobResult::<()>::Err(match &*job.name {
            "retry after" => JobError::retry_after("later", Duration::from_secs(60)),
            "fatal" => JobError::fatal("never"),
            "snooze" => JobError::snooze(Duration::from_secs(60)),
            _ => JobError::cancel(),
        })
    };
    let mut ids = Vec::new();
    for name in ["retry after", "fatal", "snooze", "cancel"] {
        ids.push(fixture.enqueue(greet(name)).await);
    }
    fixture.worker().handle(handler).run_until_idle().await.unwrap();
    let mut ends = Vec::new();
    for id in ids {
        let job = fixture.job(id).await;
        ends.push((job.status.as_str(), job.attempts));
    }
    let expected = [("failed", 1), ("dead", 1), ("scheduled", 0), ("cancelled", 1)];
    assert_eq!(ends, expected);
}

#[tokio::test]
async fn a_result_over_its_limit_fails_the_attempt() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(JobDraft::of(&greet("Ada")).max_attempts(1)).await;
    let handler = |_: Greet, _: Ctx| async { JobResult::Ok("x".repeat(65 * 1024)) };
    fixture.worker().handle(handler).run_until_idle().await.unwrap();
    let text = fixture.job(id).await.errors[0].error.to_string();
    assert!(text.contains("at most 65536 bytes"), "{text}");
}

#[tokio::test]
async fn the_policy_of_the_kind_decides_when_to_retry() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(greet("Ada")).await;
    let handler = |_: Greet, _: Ctx| async { JobResult::<()>::Err("no".into()) };
    let options = KindOptions::new().retry(RetryPolicy::custom(|_| panic!("no policy")));
    fixture.worker().handle_with(handler, options).run_until_idle().await.unwrap();
    // A policy that panics is replaced by the default one.
    let job = fixture.job(id).await;
    assert_eq!((job.status.as_str(), job.attempts), ("failed", 1));
}

#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn add(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }
}

impl Hooks for Seen {
    fn on_start(&self, ctx: &Ctx) {
        self.add(format!("start {}", ctx.kind()));
    }

    fn on_outcome(&self, _ctx: &Ctx, outcome: &Outcome) {
        self.add(format!("outcome {}", outcome.as_str()));
        panic!("hooks may panic");
    }
}

impl Middleware for Seen {
    fn call<'a>(&'a self, ctx: Ctx, next: Next) -> BoxFuture<'a, JobResult<Option<Bytes>>> {
        Box::pin(async move {
            self.add("before");
            let result = next.run(ctx).await;
            self.add("after");
            result
        })
    }
}

#[tokio::test]
async fn middleware_wraps_and_hooks_are_told() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(JobDraft::new("raw", "abc")).await;
    let seen = Seen::default();
    let (log, raw) = (seen.clone(), seen.clone());
    let handler = move |payload: Bytes, _: Ctx| {
        raw.add("handler");
        async move { JobResult::Ok(Some(payload)) }
    };
    let worker = fixture.worker().hooks(seen.clone()).middleware(seen).handle_raw("raw", handler);
    worker.run_until_idle().await.unwrap();
    let expected = ["start raw", "before", "handler", "after", "outcome completed"];
    assert_eq!(*log.0.lock().unwrap(), expected);
    assert_eq!(fixture.job(id).await.result.as_deref(), Some(&b"abc"[..]));
}

#[tokio::test]
async fn mistakes_of_the_builder_are_told_at_the_start() {
    let fixture = Fixture::new();
    let handler = || |_: Greet, _: Ctx| async { JobResult::Ok(()) };
    let mistakes: [(Worker, &str); 7] = [
        (fixture.worker().queue("a b"), "queue"),
        (fixture.worker().queues(["a", "a"]), "named once"),
        (fixture.worker().concurrency(0), "concurrency"),
        (fixture.worker().weighted([("a", 0)]), "weight"),
        (fixture.worker().queue("a").weighted([("b", 1)]), "by weight"),
        (fixture.worker().queue_concurrency("other", 1), "queue_concurrency"),
        (fixture.worker().handle(handler()).handle(handler()), "two handlers"),
    ];
    for (worker, text) in mistakes {
        let error = worker.start().await.unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[tokio::test]
async fn a_capped_queue_never_runs_more_than_it_may() {
    let fixture = Fixture::new();
    for _ in 0..20 {
        fixture.enqueue(JobDraft::of(&greet("a")).queue("capped")).await;
        fixture.enqueue(JobDraft::of(&greet("b")).queue("open")).await;
    }
    let running = Arc::new(AtomicU32::new(0));
    let handler = move |_: Greet, ctx: Ctx| {
        let running = Arc::clone(&running);
        async move {
            if ctx.queue().as_str() == "capped" {
                assert!(running.fetch_add(1, Ordering::SeqCst) < 2, "too many at once");
                tokio::task::yield_now().await;
                running.fetch_sub(1, Ordering::SeqCst);
            }
            JobResult::Ok(())
        }
    };
    let worker = fixture.worker().weighted([("capped", 3), ("open", 1)]);
    let worker = worker.queue_concurrency("capped", 2).handle(handler);
    let summary = worker.run_until_idle().await.unwrap();
    assert_eq!((summary.completed, summary.total()), (40, 40));
}

struct Greeting(&'static str);

#[tokio::test]
async fn handlers_get_the_state_that_the_worker_was_given() {
    async fn greeting(job: Greet, ctx: Ctx) -> JobResult<String> {
        let Greeting(text) = ctx.state()?;
        Ok(format!("{text}, {}!", job.name))
    }
    let fixture = Fixture::new();
    let id = fixture.enqueue(greet("Ada")).await;
    let worker = fixture.worker().state(7_u8).state(Greeting("Bye")).state(Greeting("Hello"));
    worker.handle(greeting).run_until_idle().await.unwrap();
    assert_eq!(fixture.job(id).await.result.as_deref(), Some(&b"\"Hello, Ada!\""[..]));

    let id = fixture.enqueue(JobDraft::of(&greet("Bob")).max_attempts(1)).await;
    fixture.worker().handle(greeting).run_until_idle().await.unwrap();
    let reason = fixture.job(id).await.reason.unwrap();
    assert!(reason.as_str().contains("`Worker::state(value)`"), "{reason:?}");
}

/// As `anyhow::Error` has it: no error itself, but it becomes one.
struct Anyhow(&'static str);

impl From<Anyhow> for Box<dyn std::error::Error + Send + Sync> {
    fn from(Anyhow(text): Anyhow) -> Self {
        text.into()
    }
}

#[tokio::test]
async fn a_handler_may_answer_any_error_that_becomes_a_job_error() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(JobDraft::of(&greet("Ada")).max_attempts(1)).await;
    let fails = async |_: Greet, _: Ctx| Err::<(), _>(Anyhow("no route to Ada"));
    fixture.worker().handle(fails).run_until_idle().await.unwrap();
    assert_eq!(fixture.job(id).await.reason.unwrap().as_str(), "no route to Ada");
}
