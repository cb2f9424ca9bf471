//! Whether it is there, and whether it can work.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use queuekit::{JobFilter, PageSize};

use super::app::App;

/// The store is given this long to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether the process is there.
#[utoipa::path(
    get, path = "/healthz", tag = "health",
    responses((status = 200, description = "It is.", body = String, content_type = "text/plain"))
)]
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether the store answers, and the server is not about to end.
#[utoipa::path(
    get, path = "/readyz", tag = "health",
    responses(
        (status = 200, description = "Yes.", body = String, content_type = "text/plain"),
        (status = 503, description = "Not now.", body = String, content_type = "text/plain"),
    )
)]
pub(super) async fn readyz(State(app): State<App>) -> (StatusCode, &'static str) {
    if app.stopping().is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n");
    }
    // One page of one job: what every store has, at a bounded cost.
    let filter = JobFilter { limit: PageSize::new(1).unwrap_or_default(), ..JobFilter::default() };
    match tokio::time::timeout(PATIENCE, app.store().list_jobs(&filter)).await {
        Ok(Ok(_)) => (StatusCode::OK, "ok\n"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "the store does not answer\n"),
    }
}
