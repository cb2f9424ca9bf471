//! Errors as `application/problem+json` (RFC 9457).

use std::borrow::Cow;
use std::time::Duration;

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use queuekit::{Error, ErrorKind};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// Fields whose errors repeat the value that was sent: they hold no secrets.
const SAYS_WHY: [&str; 2] = ["cron", "zone"];
/// Fields that have another name in the core than in the API.
const NAMES: [(&str, &str); 5] = [
    ("delay", "delay_ms"),
    ("timeout", "timeout_ms"),
    ("deadline", "deadline_ms"),
    ("every", "every_ms"),
    ("jitter", "jitter_ms"),
];

/// An error of a request, and what to do about it.
#[derive(Debug)]
pub(crate) struct Problem(Box<Parts>);

#[derive(Debug)]
struct Parts {
    status: StatusCode,
    kind: &'static str,
    detail: String,
    place: Place,
    retry_after: Option<Duration>,
    outcomes: Option<Box<RawValue>>,
}

/// The input that is wrong.
#[derive(Debug, Default)]
struct Place {
    item: Option<usize>,
    field: Option<Cow<'static, str>>,
    limit: Option<String>,
}

/// An error, as `application/problem+json`.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemBody<'a> {
    /// `urn:queuekit:problem:` and a stable code, such as `queue_full`.
    #[schema(example = "urn:queuekit:problem:not_found")]
    r#type: String,
    /// The status in words.
    title: &'a str,
    /// The HTTP status.
    status: u16,
    /// What failed, on what, and what to do.
    detail: &'a str,
    /// The position in the batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<usize>,
    /// The field that breaks a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    /// The limit, in words with units.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'a str>,
    /// The outcomes of a batch of which nothing was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    outcomes: Option<&'a RawValue>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Self {
        let (place, detail) = (Place::default(), detail.into());
        Self(Box::new(Parts { status, kind, detail, place, retry_after: None, outcomes: None }))
    }

    /// The code at the end of `type`.
    pub(crate) fn kind(&self) -> &'static str {
        self.0.kind
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.0.status
    }

    /// What failed, on what, and what to do.
    pub(crate) fn detail(&self) -> &str {
        &self.0.detail
    }

    /// A request that cannot be parsed.
    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", detail)
    }

    /// A field that breaks a rule of the API.
    pub(crate) fn invalid(field: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Self {
        let mut problem = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", detail);
        problem.0.place.field = Some(field.into());
        problem
    }

    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("the {what} does not exist"))
    }

    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", detail)
    }

    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", detail)
    }

    /// A request whose key has expired, or was removed or changed, while it waited.
    pub(crate) fn key_ended() -> Self {
        let detail = "the key has expired, or was removed or changed, while the request waited";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
    }

    pub(crate) fn unsupported(what: &str) -> Self {
        let detail = format!("this store does not support {what}");
        Self::new(StatusCode::NOT_IMPLEMENTED, "unsupported", detail)
    }

    /// More than this server handles at once.
    pub(crate) fn overloaded(what: &str) -> Self {
        let detail = format!("the server has as many {what} as it can handle; try again later");
        let problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", detail);
        problem.retry_after(Duration::from_secs(1))
    }

    pub(crate) fn queue_full(retry_after: Duration) -> Self {
        let detail = "the queue has max_pending pending jobs, and nothing was stored; try again \
                      later";
        let problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "queue_full", detail);
        problem.retry_after(retry_after)
    }

    #[must_use]
    pub(crate) fn retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    #[must_use]
    pub(crate) fn at_item(mut self, item: usize) -> Self {
        self.0.place.item = Some(item);
        self
    }

    /// Sets the field of the request that is wrong.
    #[must_use]
    pub(crate) fn in_field(mut self, field: &'static str) -> Self {
        self.0.place.field = Some(Cow::Borrowed(field));
        self.0.detail = format!("{field}: {}", self.0.detail);
        self
    }

    /// Adds the outcomes of a batch.
    #[must_use]
    pub(crate) fn with_outcomes(mut self, outcomes: Option<Box<RawValue>>) -> Self {
        self.0.outcomes = outcomes;
        self
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let status = match error.kind() {
            ErrorKind::Invalid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Conflict | ErrorKind::LeaseLost => StatusCode::CONFLICT,
            ErrorKind::QueueFull { .. } => StatusCode::TOO_MANY_REQUESTS,
            ErrorKind::Unsupported => StatusCode::NOT_IMPLEMENTED,
            ErrorKind::StorageFull
            | ErrorKind::Unavailable
            | ErrorKind::Indeterminate
            | ErrorKind::Closed => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let mut problem = Self::new(status, error.kind().as_str(), error.to_string());
        match error.kind() {
            ErrorKind::Invalid { field: "queues", limit, .. } if error.is_too_many() => {
                let detail = format!(
                    "this store may have {limit}: use an existing one, or remove unused ones with \
                     DELETE /v1/queues/NAME"
                );
                return Self::new(StatusCode::CONFLICT, "too_many_queues", detail);
            }
            ErrorKind::Invalid { field: "workers", limit, .. } if error.is_too_many() => {
                let detail = format!(
                    "this store may list {limit}: stop some, or remove those that are gone with \
                     DELETE /v1/workers/ID"
                );
                return Self::new(StatusCode::CONFLICT, "too_many_workers", detail);
            }
            ErrorKind::Invalid { item, field, limit } => {
                let name = NAMES.iter().find(|(name, _)| name == field);
                let name = name.map_or(*field, |(_, name)| name);
                if SAYS_WHY.contains(field) {
                    problem.0.detail = problem.0.detail.chars().take(300).collect();
                } else if error.got().is_some() {
                    let item = item.map(|item| format!("item {item}: ")).unwrap_or_default();
                    problem.0.detail = format!("{item}{name} must be {limit}");
                }
                let (field, limit) = (Some(Cow::Borrowed(name)), Some(limit.clone()));
                problem.0.place = Place { item: *item, field, limit };
            }
            ErrorKind::QueueFull { retry_after } => problem.0.retry_after = Some(*retry_after),
            _ if status == StatusCode::SERVICE_UNAVAILABLE => {
                problem.0.retry_after = Some(Duration::from_secs(1));
            }
            _ => {}
        }
        if status.is_server_error() {
            tracing::warn!(error = %error, "a request failed");
            if let Some(detail) = public_detail(error.kind()) {
                problem.0.detail = detail.to_owned();
            }
        }
        problem
    }
}

/// What an answer says of a fault of the store. The text of the error is for the log: it may have
/// what the store's server or driver says about itself.
fn public_detail(kind: &ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::Unsupported => return None,
        ErrorKind::StorageFull => "the store has no room; nothing was stored",
        ErrorKind::Indeterminate => {
            "it is unknown whether the call took effect; it is safe to repeat it"
        }
        ErrorKind::Unavailable => {
            "the store cannot be reached or is too busy; nothing was changed, try again"
        }
        ErrorKind::Closed => "the server has closed its store; try again",
        _ => "the store cannot read what is stored; the log of the server says more",
    })
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let parts = *self.0;
        let body = ProblemBody {
            r#type: format!("urn:queuekit:problem:{}", parts.kind),
            title: parts.status.canonical_reason().unwrap_or("Error"),
            status: parts.status.as_u16(),
            detail: &parts.detail,
            item: parts.place.item,
            field: parts.place.field.as_deref(),
            limit: parts.place.limit.as_deref(),
            outcomes: parts.outcomes.as_deref(),
        };
        // Texts, numbers and checked JSON can always be serialized.
        let json = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = (parts.status, json).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(wait) = parts.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
        }
        if parts.status == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer realm=\"queuekit\"");
            headers.insert(axum::http::header::WWW_AUTHENTICATE, bearer);
        }
        response
    }
}

/// `Retry-After` has whole seconds, rounded up: later is safe, earlier is not.
fn whole_seconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_does_not_repeat_what_the_driver_says() {
        let driver = std::io::Error::other("no route to 10.0.0.7:5432, user jobs");
        for (kind, status) in [
            (ErrorKind::Unavailable, 503),
            (ErrorKind::Indeterminate, 503),
            (ErrorKind::StorageFull, 503),
            (ErrorKind::Closed, 503),
            (ErrorKind::Corrupt, 500),
        ] {
            let message = format!("the server refused the call: {driver}");
            let problem = Problem::from(Error::new(kind, message).during("enqueue"));
            assert_eq!(problem.0.status.as_u16(), status);
            assert!(!problem.0.detail.contains("10.0.0.7"), "{}", problem.0.detail);
            assert!(!problem.0.detail.is_empty());
        }
    }
}
