//! Health checks.

use axum::extract::State;
use axum::http::StatusCode;

use super::app::App;

/// Checks that the process runs.
#[utoipa::path(
    get, path = "/healthz", tag = "health",
    responses((status = 200, description = "The process runs.", body = String,
        content_type = "text/plain"))
)]
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// Checks that the store accepts writes, and that the server is not stopping.
#[utoipa::path(
    get, path = "/readyz", tag = "health",
    responses(
        (status = 200, description = "The server is ready.", body = String,
            content_type = "text/plain"),
        (status = 503, description = "The server is not ready; the line says why.", body = String,
            content_type = "text/plain"),
    )
)]
pub(super) async fn readyz(State(app): State<App>) -> (StatusCode, String) {
    let why_not = match app.stopping().is_cancelled() {
        // Without a question to the store: a balancer must learn of it at once, even if the store
        // is slow.
        true => Some("stopping"),
        false => app.why_not_ready().await,
    };
    match why_not {
        None => (StatusCode::OK, "ok\n".to_owned()),
        Some(why_not) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why_not}\n")),
    }
}
