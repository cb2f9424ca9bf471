//! `GET /metrics`: metrics of this process and of all queues, for Prometheus.

use std::cmp::Reverse;
use std::fmt::{Display, Write};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::Response;
use metrics::{counter, gauge, histogram};
use queuekit::Status;
use queuekit::metrics::{Metric, MetricKind, OTHER};
use queuekit::queues::{Queue, Totals};

use super::app::App;
use crate::monitor::catalog::{
    IN_FLIGHT, QUEUE_DEMAND, QUEUE_ENDED, QUEUE_ENQUEUED, QUEUE_FAILED, QUEUE_HEALTH, QUEUE_JOBS,
    QUEUE_OLDEST, QUEUE_PAUSED, QUEUE_WORKERS, REQUEST_SECONDS, REQUESTS, STORE_UP, SUMMED,
};
use crate::monitor::exporter;
use crate::monitor::listener::TEXT;
use crate::web::access_log::method_name;
use crate::web::{Caller, Problem, Scope, response_budget};

/// Queues with series of their own. A store may have 10,000 queues, and each has 18 series.
const QUEUES: usize = 100;

/// Metrics for Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "watching", security(("key" = [])),
    responses((status = 200, description = "Metrics in the text format.", body = String,
        content_type = "text/plain"))
)]
pub(super) async fn metrics(State(app): State<App>, caller: Caller) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    let budget = app.budget(&caller).await?;
    // Metrics of the process contain the names of all queues.
    let mut text = if caller.is_bound() { String::new() } else { exporter::render() };
    // Metrics of the process matter most while the store does not answer.
    let figures = app.figures().await.ok();
    family(&mut text, &STORE_UP, [("", u8::from(figures.is_some()))]);
    if let Some(figures) = figures {
        let sees = |queue: &&Queue| caller.sees_queue(queue.name.as_str());
        queues_text(&mut text, figures.queues.iter().filter(sees).collect());
    }
    let mut response = response_budget::answer_written(budget, text.into_bytes()).await?;
    response.headers_mut().insert(CONTENT_TYPE, TEXT);
    Ok(response)
}

/// The middleware that counts requests, by the pattern of their route.
pub(crate) async fn observe(request: Request, next: Next) -> Response {
    let started = Instant::now();
    // Any other word would be a series that is kept forever.
    let method = method_name(request.method());
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let route = route.unwrap_or_else(|| "none".to_owned());
    gauge!(IN_FLIGHT.name).increment(1.0);
    let in_flight = InFlight;
    let response = next.run(request).await;
    drop(in_flight);
    histogram!(REQUEST_SECONDS.name, "route" => route.clone()).record(started.elapsed());
    let status = response.status().as_str().to_owned();
    counter!(REQUESTS.name, "method" => method, "route" => route, "status" => status).increment(1);
    response
}

/// Counts down also when the client disconnects.
struct InFlight;

impl Drop for InFlight {
    fn drop(&mut self) {
        gauge!(IN_FLIGHT.name).decrement(1.0);
    }
}

/// The queues with the most jobs that have not ended by themselves, all others together.
fn queues_text(text: &mut String, mut queues: Vec<&Queue>) {
    // Of equal ones always the same, so that series do not come and go.
    queues.sort_by_cached_key(|queue| (Reverse(queue.depth()), queue.name.clone()));
    let (shown, summed) = queues.split_at(queues.len().min(QUEUES));
    family(text, &SUMMED, [("", summed.len())]);
    per_queue(text, &QUEUE_HEALTH, shown, |queue| queue.health.score);
    other(text, &QUEUE_HEALTH, summed.iter().map(|queue| queue.health.score).min());
    per_queue(text, &QUEUE_PAUSED, shown, |queue| u8::from(queue.settings.paused));
    other(text, &QUEUE_PAUSED, summed.iter().map(|queue| u8::from(queue.settings.paused)).max());
    per_queue(text, &QUEUE_WORKERS, shown, |queue| queue.workers);
    let oldest = |queue: &Queue| queue.oldest_ready_age.unwrap_or_default();
    per_queue(text, &QUEUE_OLDEST, shown, |queue| oldest(queue).as_secs_f64());
    let oldest = summed.iter().map(|queue| oldest(queue)).max();
    other(text, &QUEUE_OLDEST, oldest.map(|age| age.as_secs_f64()));
    per_queue(text, &QUEUE_DEMAND, shown, |queue| queue.demand());
    let demand: u64 = summed.iter().map(|queue| queue.demand()).sum();
    other(text, &QUEUE_DEMAND, (!summed.is_empty()).then_some(demand));
    let ended = shown.iter().flat_map(|queue| {
        let Totals { completed, dead, cancelled, enqueued: _, failed: _ } = queue.totals;
        let ends = [("completed", completed), ("dead", dead), ("cancelled", cancelled)];
        ends.map(|(state, count)| (two_labels(&queue.name, "state", state), count))
    });
    family(text, &QUEUE_ENDED, ended);
    per_queue(text, &QUEUE_ENQUEUED, shown, |queue| queue.totals.enqueued);
    per_queue(text, &QUEUE_FAILED, shown, |queue| queue.totals.failed);
    let jobs = shown.iter().flat_map(|queue| {
        let counts = queue.counts.iter();
        counts.map(|(status, count)| (two_labels(&queue.name, "status", status), count.value))
    });
    let sum = |status| summed.iter().map(|queue| queue.counts.get(status).value).sum::<u64>();
    let others = Status::ALL.into_iter().filter(|_| !summed.is_empty());
    let others = others.map(|status| (two_labels(OTHER, "status", status), sum(status)));
    family(text, &QUEUE_JOBS, jobs.chain(others));
}

/// A value for each of these queues.
fn per_queue<V: Display>(
    text: &mut String,
    metric: &Metric,
    queues: &[&Queue],
    value: impl Fn(&Queue) -> V,
) {
    let values = queues.iter().map(|queue| (format!("{{queue=\"{}\"}}", queue.name), value(queue)));
    family(text, metric, values);
}

/// The value of all other queues, if there are any, after those of `per_queue`.
fn other(text: &mut String, metric: &Metric, value: Option<impl Display>) {
    if let Some(value) = value {
        let _ = writeln!(text, "{}{{queue=\"{OTHER}\"}} {value}", metric.name);
    }
}

fn two_labels(queue: impl Display, label: &str, value: impl Display) -> String {
    format!("{{queue=\"{queue}\",{label}=\"{value}\"}}")
}

/// A metric with its values by their labels. Writing to a `String` cannot fail, and names of queues
/// need no escapes.
fn family<L: Display, V: Display>(
    text: &mut String,
    metric: &Metric,
    values: impl IntoIterator<Item = (L, V)>,
) {
    let Metric { name, help, .. } = metric;
    let kind = if metric.kind == MetricKind::Counter { "counter" } else { "gauge" };
    let _ = writeln!(text, "# HELP {name} {help}.\n# TYPE {name} {kind}");
    for (labels, value) in values {
        let _ = writeln!(text, "{name}{labels} {value}");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http_body_util::BodyExt;
    use queuekit::memory::{MemoryStore, Operation, When};
    use queuekit::queues::QueueSettings;
    use queuekit::{Client, QueueName, Timestamp};

    use super::*;
    use crate::api::test_app::app_of;

    fn app(store: &Arc<MemoryStore>) -> App {
        app_of(Client::new(Arc::clone(store)))
    }

    async fn scrape(app: &App) -> String {
        let answer = metrics(State(app.clone()), Caller::operator()).await.unwrap();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    /// Guard: the answer does not fail with the store.
    #[tokio::test(start_paused = true)]
    async fn what_is_known_without_the_store_is_told_while_it_is_away() {
        let store = Arc::new(MemoryStore::new());
        let app = app(&store);
        store.faults().fail(Operation::ListQueues, 1, When::Before);
        let away = scrape(&app).await;
        assert!(away.contains("\nqueuekit_store_up 0\n"), "{away}");
        assert!(!away.contains("queuekit_queue_health"), "{away}");
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        let back = scrape(&app).await;
        assert!(back.contains("\nqueuekit_store_up 1\n"), "{back}");
        assert!(back.contains("queuekit_queue_health"), "{back}");
    }

    fn queues(count: u64) -> Vec<Queue> {
        let queue = |n| {
            let name = QueueName::new(format!("q{n:05}")).unwrap();
            let mut queue = Queue::empty(name, QueueSettings::default(), Timestamp::default());
            queue.counts.set(Status::Ready, queuekit::queues::Count::exact(n));
            queue
        };
        (0..count).map(queue).collect()
    }

    /// Guard: 10,000 queues would be 180,000 series in the memory of each scraper.
    #[test]
    fn s6_queues_beyond_the_100_deepest_are_summed_and_their_number_is_told() {
        let (mut text, queues) = (String::new(), queues(10_000));
        queues_text(&mut text, queues.iter().collect());
        assert!(text.lines().count() < 2_000, "{} lines", text.lines().count());
        let summed: u64 = (0..9_900).sum();
        for line in [
            "queuekit_queues_summed 9900".to_owned(),
            "queuekit_queue_demand{queue=\"q09900\"} 9900".to_owned(),
            format!("queuekit_queue_demand{{queue=\"_other\"}} {summed}"),
            format!("queuekit_queue_jobs{{queue=\"_other\",status=\"ready\"}} {summed}"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}");
        }
        assert!(!text.contains("q09899"), "one more would be 101");
        assert!(QueueName::new(OTHER).is_err(), "no queue has this name");
    }

    #[test]
    fn up_to_100_queues_have_series_of_their_own_and_none_are_summed() {
        let (mut text, queues) = (String::new(), queues(100));
        queues_text(&mut text, queues.iter().collect());
        assert!(text.contains("queuekit_queues_summed 0") && text.contains("q00000"));
        assert!(!text.contains(&format!("queue=\"{OTHER}\"")), "{text}");
    }
}
