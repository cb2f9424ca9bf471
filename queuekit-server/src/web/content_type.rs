//! The content type of bodies.

use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};

use super::problem::Problem;

/// A content type that no form and no simple request of a web page can have.
const JSON: &str = "application/json";
/// The same for CloudEvents, which only one route accepts.
const CLOUD_EVENTS: [&str; 2] =
    ["application/cloudevents+json", "application/cloudevents-batch+json"];
const EVENTS: &str = "/v1/events";

/// # Errors
/// 415 if the content type is not JSON.
pub(crate) fn need_json(headers: &HeaderMap) -> Result<(), Problem> {
    let given = essence(headers);
    if [JSON].iter().chain(&CLOUD_EVENTS).any(|json| json.eq_ignore_ascii_case(given)) {
        return Ok(());
    }
    Err(unsupported())
}

/// # Errors
/// 415 if CloudEvents are sent to another route.
pub(crate) fn refuse_cloud_events(parts: &Parts) -> Result<(), Problem> {
    let given = essence(&parts.headers);
    let are_some = CLOUD_EVENTS.iter().any(|kind| kind.eq_ignore_ascii_case(given));
    if are_some && parts.uri.path() != EVENTS { Err(unsupported()) } else { Ok(()) }
}

fn unsupported() -> Problem {
    let detail = "send the header `Content-Type: application/json`";
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail)
}

/// The content type without parameters such as `charset`.
fn essence(headers: &HeaderMap) -> &str {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    given.unwrap_or_default().split(';').next().unwrap_or_default().trim()
}
