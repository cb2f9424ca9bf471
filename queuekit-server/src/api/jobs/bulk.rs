//! `POST /v1/jobs/bulk`.

use std::time::{Duration, Instant};

use axum::Json as Answer;
use axum::extract::State;
use queuekit::jobs::{BulkReport, BulkRequest, PageSize};
use queuekit::store::bulk;
use queuekit::store::capability::Act;

use super::list::to_read;
use crate::api::app::App;
use crate::api::audit::{audited_as, json};
use crate::web::{AdminScope, Caller, Json, Problem};
use crate::wire::{BulkBody, BulkReportBody, Time, within};

/// Jobs that are read and changed at once, and those that are only counted.
const PART: usize = 64;
const COUNTED: usize = 250;

/// Does one step of an action on many jobs.
#[utoipa::path(
    post, path = "/v1/jobs/bulk", tag = "jobs", security(("key" = [])),
    request_body(content = BulkBody, content_type = "application/json"),
    responses((status = 200, description = "What the step did.", body = BulkReportBody))
)]
pub(crate) async fn bulk_jobs(
    State(app): State<App>,
    caller: Caller,
    Json(body, budget, _): Json<AdminScope, BulkBody>,
) -> Result<Answer<BulkReportBody>, Problem> {
    // Give back the memory of the body: each part takes its own.
    drop(budget);
    let action = body.action(format!("dead-lettered by {}", caller.id()))?;
    let cursor = body.cursor.as_deref().map(str::parse).transpose()?;
    let told = format!("jobs {}", json(&body.filter));
    let is_meant = body.filter.need_meant();
    let filter = body.filter.filter(body.limit, cursor)?;
    caller.need_named(filter.queue.as_ref(), filter.kind.as_ref())?;
    // Only now: what is wrong with a filter is for those who may use it.
    is_meant?;
    let mut request = BulkRequest::new(action, filter);
    request.dry_run = body.dry_run;
    request.since = body.since.map(|time| time.0);
    let within = within(body.within_ms)?;
    let (here, asking) = (app.clone(), caller.clone());
    let doing = async move { in_parts(&here, &asking, &request, within).await };
    let report = match body.dry_run {
        true => doing.await?,
        false => {
            let act = Act::new(caller.who(), &format!("bulk {}", body.action), &told);
            let count = |act: Act, report: &BulkReport| act.counted(report.matched, report.changed);
            audited_as(&app, &caller, act, doing, count).await?
        }
    };
    Ok(Answer(BulkReportBody {
        matched: report.matched,
        changed: report.changed,
        skipped: report.skipped,
        cursor: report.cursor.map(|cursor| cursor.to_string()),
        since: report.since.map(Time),
    }))
}

/// Reads only some jobs at once, because they come with their payloads, and takes memory for them
/// first. If a later part fails, the report says what the parts before it did.
pub(super) async fn in_parts(
    app: &App,
    caller: &Caller,
    request: &BulkRequest,
    within: Option<Duration>,
) -> Result<BulkReport, Problem> {
    let begun = Instant::now();
    let time_left = || within.map(|within| within.saturating_sub(begun.elapsed()));
    let at_once = if request.dry_run { COUNTED } else { PART };
    let mut left = request.filter.limit.get();
    let mut request = request.clone();
    let mut part = async |limit: usize, before: Option<&BulkReport>| {
        request.filter.limit = PageSize::new(limit.min(at_once))?;
        if let Some(left) = time_left() {
            request.filter = request.filter.clone().within(left);
        }
        if let Some(before) = before {
            (request.filter.cursor, request.since) = (before.cursor.clone(), before.since);
        }
        let _held = to_read(app, caller, &request.filter).await?;
        Ok::<_, Problem>(bulk(app.store(), &request).await?)
    };
    let mut all = part(left, None).await?;
    left = left.saturating_sub(at_once);
    while left > 0 && all.cursor.is_some() && time_left() != Some(Duration::ZERO) {
        let Ok(mut next) = part(left, Some(&all)).await else { break };
        next.matched += all.matched;
        next.changed += all.changed;
        next.skipped += all.skipped;
        all = next;
        left = left.saturating_sub(at_once);
    }
    Ok(all)
}
