//! `GET /metrics`: figures of this process and of all queues, for Prometheus.

use std::fmt::Write;
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use metrics::{counter, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use queuekit::Queue;
use queuekit::queue::Totals;

use super::app::App;
use crate::http::{Caller, Problem, Scope};

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Seconds; an answer that takes longer than the last is a long poll.
const BUCKETS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0];
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
    // What the process counts has the names of all queues in it.
    let mut text = if caller.is_bound() { String::new() } else { app.metrics().render() };
    let queues = app.store().list_queues().await?;
    let seen: Vec<_> =
        queues.iter().filter(|queue| caller.sees_queue(queue.name.as_str())).collect();
    queues_text(&mut text, &seen);
    Ok(([(CONTENT_TYPE, TEXT)], text).into_response())
}

/// The middleware that counts requests; a route is counted under its pattern.
pub(super) async fn observe(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = method_of(request.method());
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

/// Anybody may send any word: each would be a series that is kept for ever.
fn method_of(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// Also when the client hangs up.
struct InFlight;

impl Drop for InFlight {
    fn drop(&mut self) {
        gauge!("queuekit_http_requests_in_flight").decrement(1.0);
    }
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
