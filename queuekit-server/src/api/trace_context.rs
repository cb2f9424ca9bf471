//! W3C trace context: it travels in the metadata of a job, and workers continue the trace.

use axum::http::HeaderMap;
use queuekit::events::NewEvent;
use queuekit::{NewJob, TraceContext};

use super::app::App;

/// The jobs with the span of the request, if they have none and there is room for it.
pub(super) fn on_jobs(app: &App, headers: &HeaderMap, mut jobs: Vec<NewJob>) -> Vec<NewJob> {
    if let Some(span) = of(headers) {
        span.add_to_jobs(&mut jobs, &app.client().backend().capabilities().limits);
    }
    jobs
}

/// The same for one job.
pub(super) fn on_job(app: &App, headers: &HeaderMap, mut job: NewJob) -> NewJob {
    if let Some(span) = of(headers) {
        let limits = app.client().backend().capabilities().limits;
        span.add_to_jobs(std::slice::from_mut(&mut job), &limits);
    }
    job
}

/// The same for events.
pub(super) fn on_events(app: &App, headers: &HeaderMap, events: &mut [NewEvent]) {
    if let Some(span) = of(headers) {
        span.add_to_events(events, &app.client().backend().capabilities().limits);
    }
}

fn of(headers: &HeaderMap) -> Option<TraceContext> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    TraceContext::parse(text("traceparent")?, text("tracestate"))
}
