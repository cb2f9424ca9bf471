//! Which jobs are asked for: a filter and a page, in a query.

use std::time::Duration;

use queuekit::Error;
use queuekit::jobs::JobFilter;
use serde::{Deserialize, Serialize};
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, PartialSchema};

use super::FilterBody;

/// A filter of jobs, and which page of them.
#[derive(Debug, Serialize)]
pub(crate) struct JobQuery {
    #[serde(flatten)]
    pub(crate) filter: FilterBody,
    #[serde(flatten)]
    pub(crate) page: PageQuery,
}

/// Which page of jobs.
#[derive(Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// Only ended jobs, of all queues by the time of their end, the newest first. Without a queue,
    /// the store may have at most 1,000 queues.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) recent: bool,
    /// Most jobs on the page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub(crate) limit: Option<usize>,
    /// A page that has looked at `limit` jobs reads no further after this time, so that it may be
    /// short or empty and still have a cursor.
    #[param(minimum = 0, maximum = 60000)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) within_ms: Option<u64>,
    /// `cursor` of the previous page.
    #[param(pattern = "^([0-9a-f]{2})+$")]
    pub(crate) cursor: Option<String>,
}

/// The longest time that a page or a step may be given.
const LONGEST_MS: u64 = 60_000;

/// The time after which a page or a step reads no further, by the field `within_ms`.
///
/// # Errors
/// `Invalid` if it is too long.
pub(crate) fn within(within_ms: Option<u64>) -> queuekit::Result<Option<Duration>> {
    match within_ms {
        Some(ms) if ms > LONGEST_MS => {
            Err(Error::invalid("within_ms", format!("at most {LONGEST_MS} ms"), ms))
        }
        ms => Ok(ms.map(Duration::from_millis)),
    }
}

impl JobQuery {
    pub(crate) fn filter(self) -> queuekit::Result<JobFilter> {
        let PageQuery { recent, limit, within_ms, cursor } = self.page;
        let mut filter =
            self.filter.filter(limit, cursor.as_deref().map(str::parse).transpose()?)?;
        if let Some(time) = within(within_ms)? {
            filter = filter.within(time);
        }
        Ok(if recent { filter.recent() } else { filter })
    }
}

/// Those of the filter in a body, without `all`.
impl IntoParams for JobQuery {
    fn into_params(place: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let filter = match FilterBody::schema() {
            RefOr::T(Schema::Object(filter)) => filter.properties,
            _ => Default::default(),
        };
        let parameter = |(name, schema): (String, RefOr<Schema>)| {
            let text = serde_json::json!(schema)["description"].as_str().map(str::to_owned);
            let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Query);
            parameter.description(text).schema(Some(schema)).build()
        };
        let filter = filter.into_iter().filter(|(name, _)| name != "all").map(parameter);
        filter.chain(PageQuery::into_params(place)).collect()
    }
}
