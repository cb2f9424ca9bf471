//! `GET /metrics`: figures of this process and of all queues, for Prometheus.

use std::fmt::Write;
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::Response;
use metrics::{counter, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use queuekit::Queue;
use queuekit::queue::Totals;

use super::app::App;
use crate::http::access::word_of;
use crate::http::{Caller, Problem, Scope, held};

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Seconds; an answer that takes longer than the last is a long poll.
const BUCKETS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0];
/// For the store to answer: scrapers wait 10 s.
const PATIENCE: Duration = Duration::from_secs(5);
const DURATION: &str = "queuekit_http_request_seconds";

/// What libraries of this process have counted.
pub(super) struct Metrics(Option<PrometheusHandle>);

impl Metrics {
    /// Counts from now on. There is one recorder in a process: who comes second shows none.
    pub(super) fn install() -> Self {
        let builder = PrometheusBuilder::new();
        let builder = builder.set_buckets_for_metric(Matcher::Full(DURATION.to_owned()), &BUCKETS);
        Self(builder.ok().and_then(|builder| builder.install_recorder().ok()))
    }

    /// Is to be called now and then, or what is observed piles up.
    fn tidy(&self) {
        if let Some(handle) = &self.0 {
            handle.run_upkeep();
        }
    }

    fn render(&self) -> String {
        self.0.as_ref().map(PrometheusHandle::render).unwrap_or_default()
    }
}

/// Keeps what is observed small, until the server stops.
pub(super) async fn keep_tidy(app: App) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(5)) => app.metrics().tidy(),
            () = app.stopping().cancelled() => return,
        }
    }
}

/// Figures for Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "watching", security(("key" = [])),
    responses((status = 200, description = "In the text format.", body = String,
        content_type = "text/plain"))
)]
pub(super) async fn metrics(State(app): State<App>, caller: Caller) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    let room = app.room(&caller).await?;
    // What the process counts has the names of all queues in it.
    let mut text = if caller.is_bound() { String::new() } else { app.metrics().render() };
    // What is known without the store is wanted most while it is away.
    let asked = tokio::time::timeout(PATIENCE, app.store().list_queues()).await;
    let queues = asked.ok().and_then(Result::ok);
    store_text(&mut text, queues.is_some());
    if let Some(queues) = queues {
        let sees = |queue: &&Queue| caller.sees_queue(queue.name.as_str());
        queues_text(&mut text, &queues.iter().filter(sees).collect::<Vec<_>>());
    }
    let mut response = held::answer(room, text.into_bytes()).await?;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(TEXT));
    Ok(response)
}

/// The middleware that counts requests; a route is counted under its pattern.
pub(super) async fn observe(request: Request, next: Next) -> Response {
    let started = Instant::now();
    // Each word would be a series that is kept for ever.
    let method = word_of(request.method());
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let route = route.unwrap_or_else(|| "none".to_owned());
    gauge!("queuekit_http_requests_in_flight").increment(1.0);
    let in_flight = InFlight;
    let response = next.run(request).await;
    drop(in_flight);
    histogram!(DURATION, "route" => route.clone()).record(started.elapsed());
    let status = response.status().as_str().to_owned();
    let counted = "queuekit_http_requests_total";
    counter!(counted, "method" => method, "route" => route, "status" => status).increment(1);
    response
}

/// Also when the client hangs up.
struct InFlight;

impl Drop for InFlight {
    fn drop(&mut self) {
        gauge!("queuekit_http_requests_in_flight").decrement(1.0);
    }
}

/// Figures of queues are missing while it is 0.
fn store_text(text: &mut String, is_up: bool) {
    let name = "queuekit_store_up";
    let help =
        "Whether the store answered this request; without it there are no figures of queues.";
    let value = u8::from(is_up);
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
}

/// Writing to a string does not fail. Names of queues have nothing that would have to be escaped.
fn queues_text(text: &mut String, queues: &[&Queue]) {
    let mut family = |name: &str, help: &str, value: &dyn Fn(&Queue) -> Option<f64>| {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
        for queue in queues {
            if let Some(value) = value(queue) {
                let _ = writeln!(text, "{name}{{queue=\"{}\"}} {value}", queue.name);
            }
        }
    };
    family("queuekit_queue_health", "Health of the queue, 0 to 100.", &|queue| {
        Some(f64::from(queue.health.score))
    });
    family("queuekit_queue_paused", "Whether the queue is paused.", &|queue| {
        Some(f64::from(u8::from(queue.settings.paused)))
    });
    family("queuekit_queue_workers", "Live workers that serve the queue.", &|queue| {
        Some(queue.workers as f64)
    });
    family(
        "queuekit_queue_oldest_ready_seconds",
        "Age of the oldest job that could run now.",
        &|queue| Some(queue.oldest_ready_age.unwrap_or_default().as_secs_f64()),
    );
    let name = "queuekit_queue_ended_total";
    let _ = writeln!(text, "# HELP {name} How jobs have ended since the queue came to exist.");
    let _ = writeln!(text, "# TYPE {name} counter");
    for queue in queues {
        let Totals { completed, dead, cancelled } = queue.totals;
        for (state, value) in [("completed", completed), ("dead", dead), ("cancelled", cancelled)] {
            let _ = writeln!(text, "{name}{{queue=\"{}\",state=\"{state}\"}} {value}", queue.name);
        }
    }
    let _ = writeln!(text, "# HELP queuekit_queue_jobs Jobs by status; above 10,000 estimates.");
    let _ = writeln!(text, "# TYPE queuekit_queue_jobs gauge");
    for queue in queues {
        for (status, count) in queue.counts.iter() {
            let (name, value) = (&queue.name, count.value);
            let _ = writeln!(
                text,
                "queuekit_queue_jobs{{queue=\"{name}\",status=\"{status}\"}} {value}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http_body_util::BodyExt;
    use queuekit::Client;
    use queuekit::memory::{MemoryStore, Operation, When};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::config::{HttpFlags, Sources};
    use crate::http::limits::LiveLimits;

    /// Guard: the answer does not fail with the store.
    #[tokio::test]
    async fn what_is_known_without_the_store_is_told_while_it_is_away() {
        let store = Arc::new(MemoryStore::new());
        let options = HttpFlags::default().resolve(&Sources::default()).unwrap();
        let client = Client::new(Arc::clone(&store));
        let limits = LiveLimits::new(&options.limits);
        let app = App::new(client, options.keys, limits, CancellationToken::new());
        store.faults().fail(Operation::ListQueues, 1, When::Before);
        let mut told = Vec::new();
        for _ in 0..2 {
            let answer = metrics(State(app.clone()), Caller::operator()).await.unwrap();
            let bytes = answer.into_body().collect().await.unwrap().to_bytes();
            told.push(String::from_utf8(bytes.to_vec()).unwrap());
        }
        let [away, back] = told.try_into().unwrap();
        assert!(away.contains("\nqueuekit_store_up 0\n"), "{away}");
        assert!(!away.contains("queuekit_queue_health"), "{away}");
        assert!(back.contains("\nqueuekit_store_up 1\n"), "{back}");
        assert!(back.contains("queuekit_queue_health"), "{back}");
    }
}
