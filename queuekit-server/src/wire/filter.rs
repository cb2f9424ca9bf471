//! A filter of jobs: in a body, a query and on the command line.

use queuekit::error_groups::GroupId;
use queuekit::jobs::{Cursor, JobFilter, Kind, PageSize, StatusSet};
use queuekit::store::limits::ERROR_BYTES;
use queuekit::{Error, QueueName};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Time, nullable};
use crate::web::Problem;

/// A filter of jobs. Null is refused: a program that forgot a value must not change all jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Filter)]
pub(crate) struct FilterBody {
    /// Every job of every queue; must be the only field.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) all: bool,
    /// Only jobs whose id begins with these hexadecimal digits.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, pattern = "^[0-9A-Fa-f-]{2,36}$")]
    pub(crate) id: Option<String>,
    /// Only jobs in this queue.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    pub(crate) queue: Option<String>,
    /// A status or state, or several, joined by commas.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, pattern = "^[a-z]+(,[a-z]+)*$", example = "dead,failed")]
    pub(crate) status: Option<String>,
    /// Only of this kind.
    #[serde(
        default,
        alias = "type",
        deserialize_with = "nullable",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(nullable = false, pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    pub(crate) kind: Option<String>,
    /// Only jobs with this partition key.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, min_length = 1, max_length = 256)]
    pub(crate) partition_key: Option<String>,
    /// Only jobs held, or last held, by this worker.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    pub(crate) worker: Option<String>,
    /// Only dead or failed jobs whose error contains this text.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_length = 8192)]
    pub(crate) error: Option<String>,
    /// Only dead jobs of the error group with this id.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, pattern = "^[0-9a-f]{16}$")]
    pub(crate) group: Option<String>,
    /// Only jobs whose metadata has this value: `NAME:VALUE`.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "tenant:acme")]
    pub(crate) metadata: Option<String>,
    /// Only jobs whose payload is JSON with a scalar of this text: `PATH:VALUE`.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "user.id:7")]
    pub(crate) payload: Option<String>,
    /// Only jobs enqueued at this time or later.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = DateTime)]
    pub(crate) created_from: Option<Time>,
    /// Only jobs enqueued before this time.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = DateTime)]
    pub(crate) created_to: Option<Time>,
    /// Only jobs that ended at this time or later.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = DateTime)]
    pub(crate) finished_from: Option<Time>,
    /// Only jobs that ended before this time.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = DateTime)]
    pub(crate) finished_to: Option<Time>,
}

impl FilterBody {
    /// # Errors
    /// 422 if the filter names nothing and not `all`, or both.
    pub(crate) fn need_meant(&self) -> Result<(), Problem> {
        let names_some = *self != Self { all: self.all, ..Self::default() };
        match (self.all, names_some) {
            (true, true) => Err(Problem::invalid(
                "filter.all",
                "the filter has `all` and other fields; leave out the one or the others",
            )),
            (false, false) => Err(Problem::invalid(
                "filter",
                "the filter names nothing: name a queue, a status or the like, or send \
                 {\"all\": true} for every job of every queue",
            )),
            _ => Ok(()),
        }
    }

    pub(crate) fn filter(
        self,
        limit: Option<usize>,
        cursor: Option<Cursor>,
    ) -> queuekit::Result<JobFilter> {
        let mut filter = JobFilter::default().after(cursor);
        filter.id = self.id.map(TryInto::try_into).transpose()?;
        filter.metadata = self.metadata.map(TryInto::try_into).transpose()?;
        filter.payload = self.payload.map(TryInto::try_into).transpose()?;
        filter.queue = self.queue.map(QueueName::new).transpose()?;
        filter.kind = self.kind.map(Kind::new).transpose()?;
        filter.partition_key = self.partition_key.map(TryInto::try_into).transpose()?;
        filter.worker = self.worker.map(TryInto::try_into).transpose()?;
        if let Some(error) = self.error.as_ref().filter(|error| error.len() > ERROR_BYTES) {
            let most = format!("at most {ERROR_BYTES} bytes, as errors have no more");
            return Err(Error::invalid("error", most, error.len()));
        }
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
        if let Some(group) = self.group {
            filter = filter.group(group.parse::<GroupId>()?);
        }
        Ok(filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_a_filter_looks_for_no_text_that_is_longer_than_an_error() {
        let filter = |bytes| FilterBody { error: Some("e".repeat(bytes)), ..FilterBody::default() };
        assert!(filter(ERROR_BYTES).filter(None, None).is_ok());
        let refused = filter(ERROR_BYTES + 1).filter(None, None).unwrap_err();
        assert_eq!(refused.kind().as_str(), "invalid");
    }
}
