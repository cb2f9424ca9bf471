//! `POST /v1/jobs/bulk`.

use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State;
use queuekit::{BulkAction, BulkReport, BulkRequest, PageSize, bulk};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::app::App;
use crate::api::audit::{audit, json};
use crate::api::params::FilterBody;
use crate::api::wire::Time;
use crate::http::{Caller, Json, Problem, ToAdmin};

/// Jobs that are examined at once.
const PART: usize = 64;

/// One step of an action on the jobs of a filter.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Bulk)]
pub(crate) struct BulkBody {
    action: ActionBody,
    /// Why, for bury.
    reason: Option<String>,
    /// From now on, for reschedule.
    #[schema(maximum = 31622400000_u64)]
    delay_ms: Option<u64>,
    filter: FilterBody,
    /// Count what would match, change nothing.
    #[serde(default)]
    dry_run: bool,
    /// Most jobs that this step examines.
    #[schema(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
    /// What the last step answered.
    #[schema(pattern = "^([0-9a-f]{2})+$")]
    cursor: Option<String>,
    /// What the first step answered.
    #[schema(value_type = Option<String>, format = DateTime)]
    since: Option<Time>,
}

/// What is done with each.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = BulkAction)]
enum ActionBody {
    Retry,
    Cancel,
    Delete,
    Bury,
    Reschedule,
}

/// What a step did.
#[derive(Serialize, ToSchema)]
#[schema(as = BulkReport)]
pub(crate) struct ReportBody {
    matched: u64,
    changed: u64,
    /// Those whose state forbade it when their turn came.
    skipped: u64,
    /// Call again with it; without one this was the last step.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    since: Option<Time>,
}

/// One step of an action on many jobs.
#[utoipa::path(
    post, path = "/v1/jobs/bulk", tag = "jobs", security(("key" = [])),
    request_body(content = BulkBody, content_type = "application/json"),
    responses((status = 200, description = "What it did.", body = ReportBody))
)]
pub(crate) async fn bulk_jobs(
    State(app): State<App>,
    caller: Caller,
    Json(body, ..): Json<ToAdmin, BulkBody>,
) -> Result<Answer<ReportBody>, Problem> {
    let action = body.action(&caller)?;
    let cursor = body.cursor.as_deref().map(str::parse).transpose()?;
    let told = format!("jobs {}", json(&body.filter));
    let is_meant = body.filter.need_meant();
    let filter = body.filter.filter(body.limit, cursor)?;
    caller.need_named(filter.queue.as_ref(), filter.kind.as_ref())?;
    is_meant?;
    let since = body.since.map(|time| time.0);
    let request = BulkRequest { dry_run: body.dry_run, since, ..BulkRequest::new(action, filter) };
    let report = in_parts(&app, &request).await.map_err(Problem::from);
    let outcome = match &report {
        Ok(report) => format!("changed {}", report.changed),
        Err(problem) => problem.kind().to_owned(),
    };
    let action = body.action.name();
    let action = format!("bulk {action}{}", if body.dry_run { " dry run" } else { "" });
    audit(&caller, &action, told, &outcome);
    let report = report?;
    Ok(Answer(ReportBody {
        matched: report.matched,
        changed: report.changed,
        skipped: report.skipped,
        cursor: report.cursor.map(|cursor| cursor.to_string()),
        since: report.since.map(Time),
    }))
}

/// Jobs are looked at with their payloads, so only some at once. What was done is told even if it
/// does not go on from there.
async fn in_parts(app: &App, request: &BulkRequest) -> queuekit::Result<BulkReport> {
    let mut left = request.filter.limit.get();
    let mut request = request.clone();
    let mut part = async |limit: usize, before: Option<&BulkReport>| {
        request.filter.limit = PageSize::new(limit.min(PART))?;
        if let Some(before) = before {
            (request.filter.cursor, request.since) = (before.cursor.clone(), before.since);
        }
        bulk(app.store(), &request).await
    };
    let mut all = part(left, None).await?;
    left = left.saturating_sub(PART);
    while left > 0 && all.cursor.is_some() {
        let Ok(next) = part(left, Some(&all)).await else { break };
        all = BulkReport {
            matched: all.matched + next.matched,
            changed: all.changed + next.changed,
            skipped: all.skipped + next.skipped,
            ..next
        };
        left = left.saturating_sub(PART);
    }
    Ok(all)
}

impl ActionBody {
    fn name(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::Delete => "delete",
            Self::Bury => "bury",
            Self::Reschedule => "reschedule",
        }
    }
}

impl BulkBody {
    fn action(&self, caller: &Caller) -> Result<BulkAction, Problem> {
        Ok(match self.action {
            ActionBody::Retry => BulkAction::Retry,
            ActionBody::Cancel => BulkAction::Cancel,
            ActionBody::Delete => BulkAction::Delete,
            ActionBody::Bury => {
                let by = format!("buried by {}", caller.id());
                BulkAction::Bury(self.reason.clone().unwrap_or(by))
            }
            ActionBody::Reschedule => {
                let delay_ms = self.delay_ms.ok_or_else(|| {
                    Problem::invalid("delay_ms", "reschedule needs delay_ms; 0 is at once")
                })?;
                BulkAction::Reschedule(Duration::from_millis(delay_ms))
            }
        })
    }
}
