//! Keeping leases alive, and saying what runs are at.

use axum::Json as Answer;
use axum::extract::State;
use queuekit::Progress;
use queuekit::capability::{ExtendOutcome, Report, ReportOutcome};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{OutcomeBody, OutcomesBody, token, ttl};
use crate::api::app::App;
use crate::api::wire::{bounded, millis};
use crate::http::{Caller, Json, Problem, ToSettle, ToWork};

/// Leases to keep.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Extend)]
pub(crate) struct ExtendBody {
    #[schema(max_items = 1000)]
    #[serde(deserialize_with = "bounded")]
    tokens: Vec<String>,
    /// From now on.
    #[schema(minimum = 1000, maximum = 43200000)]
    lease_ms: u64,
}

/// What runs have to say.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Reports)]
pub(crate) struct ReportsBody {
    #[schema(max_items = 1000)]
    #[serde(deserialize_with = "bounded")]
    reports: Vec<ReportBody>,
}

/// What a run has to say.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Report)]
struct ReportBody {
    token: String,
    progress: Option<ProgressBody>,
    /// Appended to its log; the last 100 of 1 KiB are kept.
    #[schema(max_items = 1000)]
    #[serde(default, deserialize_with = "bounded")]
    lines: Vec<String>,
}

/// How far a run has come.
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

/// Keeps leases for another while.
#[utoipa::path(
    post, path = "/v1/extend", tag = "work", security(("key" = [])),
    request_body(content = ExtendBody, content_type = "application/json"),
    responses((status = 200,
        description = "extended (with lease_ms and cancel_requested), settling, unknown, \
                       lease_lost or not_found.",
        body = OutcomesBody))
)]
pub(crate) async fn extend(
    State(app): State<App>,
    caller: Caller,
    Json(body, ..): Json<ToSettle, ExtendBody>,
) -> Result<Answer<OutcomesBody>, Problem> {
    let ttl = ttl("lease_ms", body.lease_ms)?;
    let tokens = body.tokens.iter().enumerate().map(|(item, text)| token(&caller, item, text));
    let tokens: Result<Vec<_>, Problem> = tokens.collect();
    let outcomes = app.leases()?.extend(&tokens?, ttl).await?;
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
    responses((status = 200, description = "reported, lease_lost or not_found.",
        body = OutcomesBody))
)]
pub(crate) async fn report(
    State(app): State<App>,
    caller: Caller,
    Json(body, ..): Json<ToWork, ReportsBody>,
) -> Result<Answer<OutcomesBody>, Problem> {
    let build = |(item, report): (usize, ReportBody)| {
        let lease = token(&caller, item, &report.token)?;
        let progress = report.progress.map(ProgressBody::checked).transpose();
        let progress = progress.map_err(|problem| problem.at_item(item))?;
        Ok(Report { lease, progress, lines: report.lines })
    };
    let reports: Result<Vec<_>, Problem> =
        body.reports.into_iter().enumerate().map(build).collect();
    let outcomes = app.leases()?.report(&reports?).await?;
    let outcome = |outcome| match outcome {
        ReportOutcome::Reported => OutcomeBody::from("reported"),
        ReportOutcome::LeaseLost => "lease_lost".into(),
        ReportOutcome::NotFound => "not_found".into(),
    };
    Ok(Answer(OutcomesBody { outcomes: outcomes.into_iter().map(outcome).collect() }))
}
