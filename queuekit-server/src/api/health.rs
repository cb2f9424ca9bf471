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

/// Whether the store takes writes, and the server is not about to end.
#[utoipa::path(
    get, path = "/readyz", tag = "health",
    responses(
        (status = 200, description = "Yes.", body = String, content_type = "text/plain"),
        (status = 503, description = "Not now.", body = String, content_type = "text/plain"),
    )
)]
pub(super) async fn readyz(State(app): State<App>) -> (StatusCode, String) {
    let why_not = match app.stopping().is_cancelled() {
        true => Some("stopping"),
        false => app.why_not_ready().await,
    };
    match why_not {
        None => (StatusCode::OK, "ok\n".to_owned()),
        Some(why_not) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why_not}\n")),
    }
}
