//! Whether it is there, and whether it can work.

use axum::extract::State;
use axum::http::StatusCode;

use super::app::App;

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
    match app.is_ready().await {
        true => (StatusCode::OK, "ok\n"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "the store does not answer\n"),
    }
}
