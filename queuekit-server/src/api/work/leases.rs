//! Extending leases, and reporting progress of runs.

use axum::Json as Answer;
use axum::extract::State;
use queuekit::jobs::Progress;
use queuekit::store::capability::{ExtendOutcome, Report, ReportOutcome};
use queuekit::store::limits::LOG_LINES_KEPT;
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use super::{OutcomeBody, OutcomesBody, lease, ttl};
use crate::api::app::App;
use crate::api::store_call::in_store;
use crate::web::store_calls::{self, CallSort};
use crate::web::{Caller, Json, Problem, SettleScope, WorkScope, parsed_bytes};
use crate::wire::{bounded, millis};

/// Leases to extend.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Extend)]
pub(crate) struct ExtendBody {
    #[schema(max_items = 1000)]
    #[serde(deserialize_with = "bounded")]
    tokens: Vec<String>,
    /// How long the leases last from now on.
    #[schema(minimum = 1000, maximum = 43200000)]
    lease_ms: u64,
}

/// Reports of runs.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Reports)]
pub(crate) struct ReportsBody {
    #[schema(max_items = 1000)]
    #[serde(deserialize_with = "bounded")]
    reports: Vec<ReportBody>,
}

/// A report of a run.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Report)]
struct ReportBody {
    token: String,
    progress: Option<ProgressBody>,
    /// Appended to the job's log, which keeps the last 100 lines, each cut at 1 KiB.
    #[schema(max_items = 1000)]
    #[serde(default, deserialize_with = "last_lines")]
    lines: Vec<String>,
}

/// Drops the lines that the log would not keep before the next report is read: short ones take far
/// more memory than the bytes that a caller pays for.
fn last_lines<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let mut lines: Vec<String> = bounded(from)?;
    lines.drain(..lines.len().saturating_sub(LOG_LINES_KEPT));
    lines.shrink_to_fit();
    Ok(lines)
}

/// Progress of a run.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ProgressGiven)]
struct ProgressBody {
    #[schema(minimum = 0.0, maximum = 1.0)]
    fraction: f32,
    #[serde(default)]
    message: String,
}

impl ProgressBody {
    fn checked(self) -> Result<Progress, Problem> {
        if !(0.0..=1.0).contains(&self.fraction) {
            return Err(Problem::invalid("fraction", "fraction must be from 0 to 1"));
        }
        Ok(Progress::new(self.fraction, &self.message))
    }
}

/// Extends leases.
#[utoipa::path(
    post, path = "/v1/extend", tag = "work", security(("key" = [])),
    request_body(content = ExtendBody, content_type = "application/json"),
    responses((status = 200,
        description = "`extended` with `lease_ms` and `cancel_requested`, `settling`, `unknown`, \
                       `lease_lost` or `not_found`.",
        body = OutcomesBody))
)]
pub(crate) async fn extend(
    State(app): State<App>,
    caller: Caller,
    Json(body, budget, _): Json<SettleScope, ExtendBody>,
) -> Result<Answer<OutcomesBody>, Problem> {
    let ttl = ttl("lease_ms", body.lease_ms)?;
    let tokens = body.tokens.iter().enumerate().map(|(item, text)| lease(&caller, item, text));
    let tokens: Result<Vec<_>, Problem> = tokens.collect();
    let (tokens, here) = (tokens?, app.clone());
    let queues = tokens.iter().map(|lease| &lease.queue);
    let call = (CallSort::Extend, store_calls::of_queues(tokens.len(), queues));
    let extending = async move { Ok(here.leases()?.extend(&tokens, ttl).await?) };
    let outcomes = in_store(&app, &caller, call, budget, extending).await?;
    let outcome = |outcome| match outcome {
        ExtendOutcome::Extended { ttl, cancel_requested } => OutcomeBody {
            lease_ms: Some(millis(ttl)),
            cancel_requested: Some(cancel_requested),
            ..OutcomeBody::from("extended")
        },
        ExtendOutcome::Settling => "settling".into(),
        ExtendOutcome::Unknown => "unknown".into(),
        ExtendOutcome::LeaseLost => "lease_lost".into(),
        ExtendOutcome::NotFound => "not_found".into(),
    };
    Ok(Answer(OutcomesBody { outcomes: outcomes.into_iter().map(outcome).collect() }))
}

/// Stores progress and log lines of runs.
#[utoipa::path(
    post, path = "/v1/report", tag = "work", security(("key" = [])),
    request_body(content = ReportsBody, content_type = "application/json"),
    responses((status = 200, description = "`reported`, `lease_lost` or `not_found`.",
        body = OutcomesBody))
)]
pub(crate) async fn report(
    State(app): State<App>,
    caller: Caller,
    Json(body, mut budget, _): Json<WorkScope, ReportsBody>,
) -> Result<Answer<OutcomesBody>, Problem> {
    let parsed = |report: &ReportBody| parsed_bytes::of_report(&report.lines);
    budget.set_parsed(body.reports.iter().map(parsed).sum())?;
    let build = |(item, report): (usize, ReportBody)| {
        let lease = lease(&caller, item, &report.token)?;
        let progress = report.progress.map(ProgressBody::checked).transpose();
        let progress = progress.map_err(|problem| problem.at_item(item))?;
        Ok(Report::new(lease, progress, report.lines))
    };
    let reports: Result<Vec<_>, Problem> =
        body.reports.into_iter().enumerate().map(build).collect();
    let (reports, here) = (reports?, app.clone());
    let queues = reports.iter().map(|report| &report.lease.queue);
    let call = (CallSort::Extend, store_calls::of_queues(reports.len(), queues));
    let reporting = async move { Ok(here.leases()?.report(&reports).await?) };
    let outcomes = in_store(&app, &caller, call, budget, reporting).await?;
    let outcome = |outcome| match outcome {
        ReportOutcome::Reported => OutcomeBody::from("reported"),
        ReportOutcome::LeaseLost => "lease_lost".into(),
        ReportOutcome::NotFound => "not_found".into(),
    };
    Ok(Answer(OutcomesBody { outcomes: outcomes.into_iter().map(outcome).collect() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_of_the_lines_of_a_report_no_more_are_held_than_the_log_keeps() {
        let lines: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
        let report = serde_json::json!({"token": "t", "lines": lines});
        let report: ReportBody = serde_json::from_value(report).unwrap();
        assert_eq!(report.lines, lines[900..]);
        assert_eq!(report.lines.capacity(), LOG_LINES_KEPT);
        let refused = serde_json::json!({"token": "t", "lines": vec![""; 1001]});
        assert!(serde_json::from_value::<ReportBody>(refused).is_err());
    }
}
