//! What stands in paths and queries.

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use queuekit::{Cursor, Error, JobFilter, JobId, Kind, PageSize, QueueName, StatusSet};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::wire::{Time, given};
use crate::http::Problem;
use crate::http::unsaid::without_values;

/// The one name in the path, read as what it is.
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
        // What is no id is the id of no job.
        text.parse().map(Self).map_err(|_| Problem::not_found("job"))
    }
}

/// The query; what is not known in it is refused.
#[derive(Debug)]
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(params)) => Ok(Self(params)),
            Err(error) => {
                let said = without_values(&error.body_text());
                Err(Problem::bad_request(format!("the query: {said}")))
            }
        }
    }
}

/// Whether to do it though a worker holds the job, or the queue is not empty.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Force {
    /// Do it though it is in use.
    #[serde(default)]
    pub(super) force: bool,
}

/// Which jobs, in a query.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct JobQuery {
    /// Only of this queue.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    pub(super) queue: Option<String>,
    /// A status or state, or several joined by commas.
    #[param(pattern = "^[a-z]+(,[a-z]+)*$", example = "dead,failed")]
    pub(super) status: Option<String>,
    /// Only of this type.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    pub(super) r#type: Option<String>,
    /// Only of this partition key.
    #[param(min_length = 1, max_length = 256)]
    pub(super) partition_key: Option<String>,
    /// Only held, or last held, by this worker.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    pub(super) worker: Option<String>,
    /// Only dead or failed ones whose error contains this.
    pub(super) error: Option<String>,
    /// Only enqueued at this instant or later.
    #[param(value_type = Option<String>, format = DateTime)]
    pub(super) created_from: Option<Time>,
    /// Only enqueued before this instant.
    #[param(value_type = Option<String>, format = DateTime)]
    pub(super) created_to: Option<Time>,
    /// Only ended at this instant or later.
    #[param(value_type = Option<String>, format = DateTime)]
    pub(super) finished_from: Option<Time>,
    /// Only ended before this instant.
    #[param(value_type = Option<String>, format = DateTime)]
    pub(super) finished_to: Option<Time>,
    /// At most so many on a page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub(super) limit: Option<usize>,
    /// From where the last page ended.
    #[param(pattern = "^([0-9a-f]{2})+$")]
    pub(super) cursor: Option<String>,
}

/// Which jobs, in a body. Null is refused: a value that its program had forgotten would stand for
/// all jobs.
#[derive(Debug, Default, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Filter)]
pub(super) struct FilterBody {
    /// Every job of every queue: then it is to name nothing else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) all: bool,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    pub(super) queue: Option<String>,
    /// A status or state, or several joined by commas.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(example = "dead")]
    pub(super) status: Option<String>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    pub(super) r#type: Option<String>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 256)]
    pub(super) partition_key: Option<String>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    pub(super) worker: Option<String>,
    /// Only dead or failed ones whose error contains this.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(super) created_from: Option<Time>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(super) created_to: Option<Time>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(super) finished_from: Option<Time>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(super) finished_to: Option<Time>,
}

impl JobQuery {
    pub(super) fn filter(self) -> queuekit::Result<JobFilter> {
        let (limit, cursor) = (self.limit, self.cursor.as_deref().map(str::parse).transpose()?);
        let body = FilterBody {
            all: false,
            queue: self.queue,
            status: self.status,
            r#type: self.r#type,
            partition_key: self.partition_key,
            worker: self.worker,
            error: self.error,
            created_from: self.created_from,
            created_to: self.created_to,
            finished_from: self.finished_from,
            finished_to: self.finished_to,
        };
        body.filter(limit, cursor)
    }
}

impl FilterBody {
    /// # Errors
    /// 422 if it names no jobs and does not say that all are meant, or if it says both.
    pub(super) fn need_meant(&self) -> Result<(), Problem> {
        let names_some = *self != Self { all: self.all, ..Self::default() };
        match (self.all, names_some) {
            (true, true) => Err(Problem::invalid(
                "filter.all",
                "the filter says all, and names some; leave out the one or the other",
            )),
            (false, false) => Err(Problem::invalid(
                "filter",
                "the filter names nothing: name a queue, a status or the like, or say \
                 {\"all\": true} if every job of every queue is meant",
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn filter(
        self,
        limit: Option<usize>,
        cursor: Option<Cursor>,
    ) -> queuekit::Result<JobFilter> {
        let mut filter = JobFilter::default().after(cursor);
        filter.queue = self.queue.map(QueueName::new).transpose()?;
        filter.kind = self.r#type.map(Kind::new).transpose()?;
        filter.partition_key = self.partition_key.map(TryInto::try_into).transpose()?;
        filter.worker = self.worker.map(TryInto::try_into).transpose()?;
        filter.error_contains = self.error;
        filter.created.from = self.created_from.map(|time| time.0);
        filter.created.to = self.created_to.map(|time| time.0);
        filter.finished.from = self.finished_from.map(|time| time.0);
        filter.finished.to = self.finished_to.map(|time| time.0);
        if let Some(limit) = limit {
            filter.limit = PageSize::new(limit)?;
        }
        if let Some(status) = self.status {
            let each = status.split(',').map(|status| status.trim().parse::<StatusSet>());
            filter.statuses = each
                .reduce(|all, one| Ok(all?.union(one?)))
                .unwrap_or_else(|| Ok(StatusSet::default()))?;
        }
        Ok(filter)
    }
}
