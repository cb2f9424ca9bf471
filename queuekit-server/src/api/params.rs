//! Parameters in paths and queries.

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use queuekit::jobs::JobFilter;
use queuekit::{Error, JobId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use crate::web::Problem;
use crate::web::redact::redact_values;
use crate::wire::{FilterBody, Time};

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
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(params)) => Ok(Self(params)),
            Err(error) => {
                let said = redact_values(&error.body_text());
                Err(Problem::bad_request(format!("the query: {said}")))
            }
        }
    }
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

/// A filter of jobs, in a query.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct JobQuery {
    /// Only jobs whose id begins with these hexadecimal digits.
    #[param(pattern = "^[0-9A-Fa-f-]{2,36}$")]
    pub(super) id: Option<String>,
    /// Only jobs in this queue.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    pub(super) queue: Option<String>,
    /// A status or state, or several, joined by commas.
    #[param(pattern = "^[a-z]+(,[a-z]+)*$", example = "dead,failed")]
    pub(super) status: Option<String>,
    /// Only of this kind.
    #[serde(alias = "type")]
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    pub(super) kind: Option<String>,
    /// Only jobs with this partition key.
    #[param(min_length = 1, max_length = 256)]
    pub(super) partition_key: Option<String>,
    /// Only jobs held, or last held, by this worker.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    pub(super) worker: Option<String>,
    /// Only dead or failed jobs whose error contains this text.
    pub(super) error: Option<String>,
    /// Only dead jobs of the error group with this id.
    #[param(pattern = "^[0-9a-f]{16}$")]
    pub(super) group: Option<String>,
    /// Only jobs whose metadata has this value: `NAME:VALUE`.
    #[param(example = "tenant:acme")]
    pub(super) metadata: Option<String>,
    /// Only jobs whose payload is JSON with a scalar of this text: `PATH:VALUE`.
    #[param(example = "user.id:7")]
    pub(super) payload: Option<String>,
    /// Only jobs enqueued at this time or later.
    #[param(value_type = Option<String>, format = DateTime)]
    pub(super) created_from: Option<Time>,
    /// Only jobs enqueued before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    pub(super) created_to: Option<Time>,
    /// Only jobs that ended at this time or later.
    #[param(value_type = Option<String>, format = DateTime)]
    pub(super) finished_from: Option<Time>,
    /// Only jobs that ended before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    pub(super) finished_to: Option<Time>,
    /// Only ended jobs, of all queues by the time of their end, the newest first. Without a queue,
    /// the store may have at most 1,000 queues.
    #[serde(default)]
    pub(super) recent: bool,
    /// Most jobs on the page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub(super) limit: Option<usize>,
    /// `cursor` of the previous page.
    #[param(pattern = "^([0-9a-f]{2})+$")]
    pub(super) cursor: Option<String>,
}

impl JobQuery {
    pub(super) fn filter(self) -> queuekit::Result<JobFilter> {
        let (limit, cursor) = (self.limit, self.cursor.as_deref().map(str::parse).transpose()?);
        let is_recent = self.recent;
        let body = FilterBody {
            all: false,
            id: self.id,
            queue: self.queue,
            status: self.status,
            kind: self.kind,
            partition_key: self.partition_key,
            worker: self.worker,
            error: self.error,
            group: self.group,
            metadata: self.metadata,
            payload: self.payload,
            created_from: self.created_from,
            created_to: self.created_to,
            finished_from: self.finished_from,
            finished_to: self.finished_to,
        };
        let filter = body.filter(limit, cursor)?;
        Ok(if is_recent { filter.recent() } else { filter })
    }
}
