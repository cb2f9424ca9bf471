//! The span of a run: who may prepare it, and what it tells.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use queuekit_core::{JobDraft, RetryPolicy, TraceContext};
use queuekit_worker::{Ctx, Hooks, JobError, JobResult, Worker};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Span, Subscriber};

use crate::common::{Fixture, Greet, greet};

/// What happened to spans of the worker, in order.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<String>>>, Arc<AtomicU64>);

impl Spans {
    fn add(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target().starts_with("queuekit_worker")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        assert!(span.is_root());
        self.add("new");
        span.record(&mut Fields(self));
        Id::from_u64(1 + self.1.fetch_add(1, Ordering::Relaxed))
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Fields(self));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {
        self.add("link");
    }

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {
        self.add("enter");
    }

    fn exit(&self, _: &Id) {}

    fn clone_span(&self, id: &Id) -> Id {
        self.add("clone");
        id.clone()
    }

    fn try_close(&self, _: Id) -> bool {
        self.add("drop");
        false
    }
}

struct Fields<'a>(&'a Spans);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.add(format!("{}={value:?}", field.name()));
    }
}

/// Links each run to a span.
struct Linking;

impl Hooks for Linking {
    fn on_span(&self, ctx: &Ctx, span: &Span) {
        assert_eq!(ctx.kind().as_str(), "greet");
        span.follows_from(Id::from_u64(99));
    }
}

/// The outcome of a job and its span.
async fn traced(fixture: &Fixture, result: fn() -> JobResult) -> Vec<String> {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&kept);
    let handler = move |_: Greet, ctx: Ctx| {
        // An application that keeps its run does not keep its span.
        keep.lock().unwrap().push(ctx);
        async move { result() }
    };
    fixture.worker().hooks(Linking).handle(handler).run_until_idle().await.unwrap();
    let told = spans.take();
    assert_eq!(kept.lock().unwrap().len(), told.iter().filter(|told| *told == "new").count());
    let drops = told.iter().filter(|told| *told == "drop").count();
    let handles = told.iter().filter(|told| ["new", "clone"].contains(&told.as_str())).count();
    assert_eq!(drops, handles, "all are closed: {told:?}");
    told
}

fn outcomes(told: &[String]) -> Vec<&str> {
    let is_outcome = |told: &&str| told.contains("outcome=") || told.contains("status_code=");
    told.iter().map(String::as_str).filter(is_outcome).collect()
}

/// Guard: OpenTelemetry gives no parent to a span that was entered.
#[tokio::test]
async fn hooks_get_the_span_of_a_run_before_it_is_entered() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(JobDraft::from(greet("Ada")).queue("default")).await;
    let told = traced(&fixture, || Ok(())).await;
    let link = told.iter().position(|told| told == "link").unwrap();
    let enter = told.iter().position(|told| told == "enter").unwrap();
    assert!(link < enter, "{told:?}");
    for field in [
        "otel.kind=\"consumer\"",
        "otel.name=process default",
        "messaging.system=\"queuekit\"",
        "messaging.operation.type=\"process\"",
        "messaging.destination.name=default",
        &format!("messaging.message.id={id}"),
        "queuekit.kind=greet",
        "queuekit.attempt=1",
    ] {
        assert!(told.iter().any(|told| told == field), "{field} of {told:?}");
    }
    assert_eq!(outcomes(&told), ["queuekit.outcome=\"completed\""]);
}

#[tokio::test]
async fn a_span_tells_how_its_run_ended_but_not_why() {
    let fixture = Fixture::new();
    fixture.enqueue(JobDraft::from(greet("Ada")).max_attempts(2)).await;
    let told = traced(&fixture, || Err("hunter2".into())).await;
    let failed = ["queuekit.outcome=\"failed\"", "otel.status_code=\"error\""];
    let dead = ["queuekit.outcome=\"dead\"", "otel.status_code=\"error\""];
    assert_eq!(outcomes(&told), [failed, dead].concat(), "a span for each run");
    assert!(!told.iter().any(|told| told.contains("hunter2") || told.contains("Ada")));
    fixture.enqueue(greet("Ada")).await;
    let snooze = || Err(JobError::snooze(Duration::from_secs(60)));
    assert_eq!(outcomes(&traced(&fixture, snooze).await), ["queuekit.outcome=\"released\""]);
}

#[tokio::test]
async fn jobs_that_a_handler_enqueues_carry_its_span() {
    const SPAN: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let fixture = Fixture::new();
    let id = fixture.enqueue(greet("Ada")).await;
    let handler = |_: Greet, ctx: Ctx| async move {
        let next = ctx.client().enqueue(JobDraft::new("next", "")).queue("other").await?;
        JobResult::Ok(next.to_string())
    };
    let client = fixture.client.clone().trace_context(|| TraceContext::parse(SPAN, None));
    let worker = Worker::new(client).retry(RetryPolicy::Fixed(Duration::ZERO)).handle(handler);
    worker.run_until_idle().await.unwrap();
    let next: String = fixture.job(id).await.result().unwrap();
    let metadata = fixture.job(next.parse().unwrap()).await.metadata;
    assert_eq!(metadata.get("traceparent"), Some(SPAN));
}
