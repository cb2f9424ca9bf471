//! Parameters in paths and queries.

use std::borrow::Cow;
use std::time::Duration;

use axum::extract::{FromRequestParts, Query};
use axum::http::Uri;
use axum::http::request::Parts;
use queuekit::{Error, JobId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::form_urlencoded;
use utoipa::IntoParams;

use crate::web::Problem;
use crate::web::redact::redact_values;
use crate::wire::JobQuery;

/// Longest `wait_ms`.
const LONGEST_WAIT_MS: u64 = 60_000;

/// The name in the path, parsed.
#[derive(Debug)]
pub(super) struct Named<T>(pub(super) T);

impl<T, S> FromRequestParts<S> for Named<T>
where
    T: for<'a> TryFrom<&'a str, Error = Error>,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = axum::extract::Path::<String>::from_request_parts(parts, state).await;
        let axum::extract::Path(text) =
            path.map_err(|error| Problem::bad_request(error.body_text()))?;
        Ok(Self(T::try_from(&text)?))
    }
}

/// The id in the path.
#[derive(Debug)]
pub(super) struct Id(pub(super) JobId);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = axum::extract::Path::<String>::from_request_parts(parts, state).await;
        let axum::extract::Path(text) =
            path.map_err(|error| Problem::bad_request(error.body_text()))?;
        // Text that is not an id is the id of no job.
        text.parse().map(Self).map_err(|_| Problem::not_found("job"))
    }
}

/// The query; unknown parameters are refused.
#[derive(Debug)]
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        read_query(&parts.uri).map(Self)
    }
}

fn read_query<T: DeserializeOwned>(uri: &Uri) -> Result<T, Problem> {
    match Query::<T>::try_from_uri(uri) {
        Ok(Query(params)) => Ok(params),
        Err(error) => {
            let said = redact_values(&error.body_text());
            Err(Problem::bad_request(format!("the query: {said}")))
        }
    }
}

/// How long a call may wait.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Wait {
    /// How long to wait for the end of the job, in ms.
    #[serde(default)]
    #[param(maximum = 60_000)]
    wait_ms: u64,
}

impl Wait {
    pub(super) fn time(&self) -> Result<Duration, Problem> {
        wait_time(self.wait_ms)
    }
}

/// The time of a `wait_ms`.
///
/// # Errors
/// 422 if it is too long.
pub(super) fn wait_time(wait_ms: u64) -> Result<Duration, Problem> {
    if wait_ms > LONGEST_WAIT_MS {
        let detail = format!("wait_ms must be at most {LONGEST_WAIT_MS}");
        return Err(Problem::invalid("wait_ms", detail));
    }
    Ok(Duration::from_millis(wait_ms))
}

/// Whether to act on a running job, or a queue with jobs.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Force {
    /// Act even if the job is running, or the queue has jobs.
    #[serde(default)]
    pub(super) force: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for JobQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // Not `#[serde(flatten)]`: it admits unknown parameters, and cannot read numbers here.
        let all = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let of_page = ["recent", "limit", "within_ms", "cursor"];
        let (page, filter): (Vec<_>, Vec<_>) =
            all.partition(|(name, _)| of_page.contains(&name.as_ref()));
        Ok(Self { filter: read_pairs(&filter)?, page: read_pairs(&page)? })
    }
}

fn read_pairs<T: DeserializeOwned>(pairs: &[(Cow<'_, str>, Cow<'_, str>)]) -> Result<T, Problem> {
    let query =
        form_urlencoded::Serializer::for_suffix("/?".to_owned(), 2).extend_pairs(pairs).finish();
    let uri = query.parse().map_err(|_| Problem::bad_request("the query cannot be read"))?;
    read_query(&uri)
}
