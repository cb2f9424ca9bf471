//! A step of a bulk action, and its report: commands write the one, routes the other.

use std::time::Duration;

use queuekit::jobs::{BulkAction, BulkActionName};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{FilterBody, Time, millis};
use crate::web::Problem;

/// One step of an action on all jobs that match a filter.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Bulk)]
pub(crate) struct BulkBody {
    /// What to do with each job.
    pub(crate) action: BulkActionName,
    /// Why, for `dead-letter`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// Delay from now, for `reschedule`.
    #[schema(maximum = 31622400000_u64)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay_ms: Option<u64>,
    /// Each job is due at a random time within this from now, for `retry`.
    #[schema(maximum = 31622400000_u64)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) over_ms: Option<u64>,
    pub(crate) filter: FilterBody,
    /// Count the jobs that match, and change nothing.
    #[serde(default)]
    pub(crate) dry_run: bool,
    /// Most jobs that this step examines.
    #[schema(minimum = 1, maximum = 1000, default = 100)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<usize>,
    /// The step begins no further read after this time, so that it may end before its limit.
    #[schema(minimum = 0, maximum = 60000)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) within_ms: Option<u64>,
    /// `cursor` of the previous step.
    #[schema(pattern = "^([0-9a-f]{2})+$")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cursor: Option<String>,
    /// `since` of the first step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Time>,
}

/// What a step did.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = BulkReport)]
pub(crate) struct BulkReportBody {
    pub(crate) matched: u64,
    pub(crate) changed: u64,
    /// Jobs whose state did not allow the action when their turn came.
    pub(crate) skipped: u64,
    /// Send it with the next step; missing after the last step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Time>,
}

impl BulkBody {
    /// The first step of an action.
    pub(crate) fn new(action: &BulkAction, filter: FilterBody) -> Self {
        let (mut reason, mut delay_ms, mut over_ms) = (None, None, None);
        match action {
            BulkAction::DeadLetter(why) => reason = Some(why.clone()),
            BulkAction::Reschedule(delay) => delay_ms = Some(millis(*delay)),
            BulkAction::RetryOver(over) => over_ms = Some(millis(*over)),
            _ => {}
        }
        Self {
            action: action.name(),
            reason,
            delay_ms,
            over_ms,
            filter,
            dry_run: false,
            limit: None,
            within_ms: None,
            cursor: None,
            since: None,
        }
    }

    /// The action, with this reason unless the body has one.
    ///
    /// # Errors
    /// 422 if the action lacks what it needs.
    pub(crate) fn action(&self, reason: String) -> Result<BulkAction, Problem> {
        if self.over_ms.is_some() && self.action != BulkActionName::Retry {
            let detail = "only a retry can be spread over a time: leave over_ms out";
            return Err(Problem::invalid("over_ms", detail));
        }
        Ok(match self.action {
            BulkActionName::Retry => match self.over_ms {
                Some(over_ms) => BulkAction::RetryOver(Duration::from_millis(over_ms)),
                None => BulkAction::Retry,
            },
            BulkActionName::Cancel => BulkAction::Cancel,
            BulkActionName::Delete => BulkAction::Delete,
            BulkActionName::DeadLetter => {
                BulkAction::DeadLetter(self.reason.clone().unwrap_or(reason))
            }
            BulkActionName::Reschedule => {
                let delay_ms = self.delay_ms.ok_or_else(|| {
                    Problem::invalid("delay_ms", "reschedule needs delay_ms; 0 means immediately")
                })?;
                BulkAction::Reschedule(Duration::from_millis(delay_ms))
            }
        })
    }
}
