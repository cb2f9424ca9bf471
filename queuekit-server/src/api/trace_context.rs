//! W3C trace context: it travels in the metadata of a job, and workers continue the trace.

use axum::http::HeaderMap;
use queuekit::events::NewEvent;
use queuekit::store::Limits;
use queuekit::{NewJob, TraceContext};

use super::app::App;
use crate::monitor::traces::Sending;

/// The span of a request that stores these jobs. Those without a span carry it, if there is room.
pub(super) fn send_jobs(app: &App, headers: &HeaderMap, jobs: &mut [NewJob]) -> Sending {
    let mut queues = jobs.iter().map(NewJob::queue);
    // A span names one queue, so it names none for jobs of several.
    let queue = queues.next().filter(|first| queues.all(|queue| queue == *first));
    let sending = Sending::new(caller(headers), queue, jobs.len());
    if let Some(span) = sending.context() {
        span.add_to_jobs(jobs, &limits(app));
    }
    sending
}

/// The same for events.
pub(super) fn send_events(app: &App, headers: &HeaderMap, events: &mut [NewEvent]) -> Sending {
    let sending = Sending::new(caller(headers), None, events.len());
    if let Some(span) = sending.context() {
        span.add_to_events(events, &limits(app));
    }
    sending
}

fn limits(app: &App) -> Limits {
    app.client().backend().capabilities().limits
}

/// The span that the headers name.
fn caller(headers: &HeaderMap) -> Option<TraceContext> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    TraceContext::parse(text("traceparent")?, text("tracestate"))
}
