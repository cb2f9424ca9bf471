//! Why a page is not shown.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::web::Problem;

/// Why a page is not shown, or an action was not done. The gate makes a page of it.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) status: StatusCode,
    pub(super) detail: String,
}

/// What is shown of a problem.
#[derive(Deserialize)]
struct Told {
    detail: String,
}

impl Failure {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into() }
    }

    pub(super) fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("{what} does not exist, or is not for your key"))
    }

    /// What a route of the API has answered.
    pub(super) fn read(status: StatusCode, body: &[u8]) -> Self {
        let told = serde_json::from_slice::<Told>(body).map(|told| told.detail);
        Self::new(status, told.unwrap_or_else(|_| "the request failed".to_owned()))
    }

    /// Whether the store cannot do this, or the key may not see it, so that a page is shown without
    /// it.
    pub(super) fn is_lack(&self) -> bool {
        matches!(self.status, StatusCode::NOT_IMPLEMENTED | StatusCode::FORBIDDEN)
    }

    /// Whether the store or the server is busy or away, so that a part of a page is not known now.
    pub(super) fn is_away(&self) -> bool {
        self.status == StatusCode::SERVICE_UNAVAILABLE
    }

    /// As plain text, for a request without a session.
    pub(super) fn plain(self) -> Response {
        (self.status, self.detail + "\n").into_response()
    }

    /// The status in words.
    pub(super) fn title(&self) -> &'static str {
        match self.status {
            StatusCode::FORBIDDEN => "Your key does not allow this",
            StatusCode::NOT_FOUND => "There is nothing here",
            StatusCode::TOO_MANY_REQUESTS => "Your key has done all it may for now",
            StatusCode::SERVICE_UNAVAILABLE => "The store or the server is busy or away",
            StatusCode::NOT_IMPLEMENTED => "This store cannot do this",
            status if status.is_server_error() => "This failed",
            _ => "This request is refused",
        }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::new(problem.status(), problem.detail())
    }
}

impl From<queuekit::Error> for Failure {
    fn from(error: queuekit::Error) -> Self {
        Problem::from(error).into()
    }
}

/// The gate finds it among the extensions.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
