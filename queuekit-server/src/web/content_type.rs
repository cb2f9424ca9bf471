//! The content type and the encoding of bodies.

use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, TRANSFER_ENCODING};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};

use super::problem::Problem;

/// A content type that no form and no simple request of a web page can have.
const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";
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
/// 415 if the content type is not that of a form.
pub(crate) fn need_form(headers: &HeaderMap) -> Result<(), Problem> {
    match essence(headers).eq_ignore_ascii_case(FORM) {
        true => Ok(()),
        false => Err(unsupported_because(&format!("send the header `Content-Type: {FORM}`"))),
    }
}

/// # Errors
/// 415 if CloudEvents are sent to another route; 415 or 400 if a body is compressed: no route
/// decompresses a body, so it would be read as it is.
pub(crate) fn refuse_unreadable(parts: &Parts) -> Result<(), Problem> {
    let given = essence(&parts.headers);
    let are_events = CLOUD_EVENTS.iter().any(|kind| kind.eq_ignore_ascii_case(given));
    if are_events && parts.uri.path() != EVENTS {
        return Err(unsupported());
    }
    let mut encodings = parts.headers.get_all(CONTENT_ENCODING).into_iter();
    if encodings.any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(unsupported_because("send the body without `Content-Encoding`"));
    }
    let mut codings = parts.headers.get_all(TRANSFER_ENCODING).into_iter();
    if codings.any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"chunked")) {
        return Err(Problem::bad_request("the only `Transfer-Encoding` of a body is `chunked`"));
    }
    Ok(())
}

fn unsupported() -> Problem {
    unsupported_because("send the header `Content-Type: application/json`")
}

fn unsupported_because(detail: &str) -> Problem {
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail)
}

/// The content type without parameters such as `charset`.
fn essence(headers: &HeaderMap) -> &str {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    given.unwrap_or_default().split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    #[test]
    fn s6_a_body_with_a_coding_that_is_not_undone_is_refused() {
        for (coding, is_read) in [
            ("chunked", true),
            ("Chunked", true),
            ("gzip, chunked", false),
            ("chunked, chunked", false),
        ] {
            let request = Request::builder().header("transfer-encoding", coding);
            let (parts, ()) = request.body(()).unwrap().into_parts();
            assert_eq!(refuse_unreadable(&parts).is_ok(), is_read, "{coding}");
        }
    }
}
