//! Ending leases: ack and nack.

use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State;
use futures_util::{StreamExt, TryStreamExt, stream};
use queuekit::event::retry_of_delivery;
use queuekit::retry::chance;
use queuekit::{Ack, AckOutcome, LeaseToken, Nack, NackKind, NackOutcome, RetryPolicy};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::Object;

use super::{OutcomeBody, OutcomesBody, token};
use crate::api::app::App;
use crate::api::wire::{Given, bounded, millis, words};
use crate::http::{Caller, Json, Problem, ToSettle};

/// Jobs that are looked up at once, to know which attempt failed.
const LOOKED_UP_AT_ONCE: usize = 16;

/// 30 days (contract R4.7).
const MOST_DELAY_MS: u64 = 2_592_000_000;

/// Successes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Acks)]
pub(crate) struct AcksBody {
    #[schema(max_items = 1000)]
    #[serde(deserialize_with = "bounded")]
    acks: Vec<AckBody>,
}

/// A success.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Ack)]
struct AckBody {
    token: String,
    /// Any JSON; stored with the job.
    #[schema(value_type = Option<serde_json::Value>)]
    result: Option<Box<RawValue>>,
    #[schema(format = Byte)]
    result_base64: Option<String>,
}

/// Runs that did not succeed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Nacks)]
pub(crate) struct NacksBody {
    #[schema(max_items = 1000)]
    #[serde(deserialize_with = "bounded")]
    nacks: Vec<NackBody>,
}

/// A run that did not succeed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Nack)]
struct NackBody {
    token: String,
    /// What becomes of the job.
    #[serde(default = "retry")]
    #[schema(schema_with = kinds)]
    kind: NackKind,
    /// What went wrong; kept with the job, except on release.
    #[serde(default)]
    error: String,
    /// How long it waits; without it a retry waits as the default policy says.
    #[schema(maximum = 2592000000_u64)]
    delay_ms: Option<u64>,
}

fn retry() -> NackKind {
    NackKind::Retry
}

fn kinds() -> Object {
    let text = "`retry` runs it again, unless this was its last attempt; `release` gives it back \
                unfinished, and no attempt is spent; after `fatal` it is dead at once; \
                `cancelled`: it was called off.";
    words(NackKind::WORDS, text)
}

/// Records successes.
#[utoipa::path(
    post, path = "/v1/ack", tag = "work", security(("key" = [])),
    request_body(content = AcksBody, content_type = "application/json"),
    responses((status = 200, description = "acked, already_done, lease_lost or not_found.",
        body = OutcomesBody))
)]
pub(crate) async fn ack(
    State(app): State<App>,
    caller: Caller,
    Json(body, ..): Json<ToSettle, AcksBody>,
) -> Result<Answer<OutcomesBody>, Problem> {
    let build = |(item, ack): (usize, AckBody)| {
        let lease = token(&caller, item, &ack.token)?;
        let given = Given { json: ack.result, base64: ack.result_base64 };
        let result = given.bytes("result").map_err(|problem| problem.at_item(item))?;
        Ok(Ack { lease, result })
    };
    let acks: Result<Vec<_>, Problem> = body.acks.into_iter().enumerate().map(build).collect();
    let outcomes = app.client().ack(acks?).await?;
    let outcome = |outcome| match outcome {
        AckOutcome::Acked => OutcomeBody::from("acked"),
        AckOutcome::AlreadyDone => "already_done".into(),
        AckOutcome::LeaseLost => "lease_lost".into(),
        AckOutcome::NotFound => "not_found".into(),
    };
    Ok(Answer(OutcomesBody { outcomes: outcomes.into_iter().map(outcome).collect() }))
}

/// Records failures, releases and cancellations.
#[utoipa::path(
    post, path = "/v1/nack", tag = "work", security(("key" = [])),
    request_body(content = NacksBody, content_type = "application/json"),
    responses((status = 200,
        description = "retrying, released (with in_ms), dead, cancelled, lease_lost or not_found.",
        body = OutcomesBody))
)]
pub(crate) async fn nack(
    State(app): State<App>,
    caller: Caller,
    Json(body, ..): Json<ToSettle, NacksBody>,
) -> Result<Answer<OutcomesBody>, Problem> {
    let build = |(item, nack): (usize, NackBody)| {
        let lease = token(&caller, item, &nack.token)?;
        if nack.delay_ms.is_some_and(|delay_ms| delay_ms > MOST_DELAY_MS) {
            let detail = format!("delay_ms must be at most {MOST_DELAY_MS}");
            return Err(Problem::invalid("delay_ms", detail).at_item(item));
        }
        Ok((lease, nack))
    };
    let nacks: Result<Vec<_>, Problem> = body.nacks.into_iter().enumerate().map(build).collect();
    let complete = nacks?.into_iter().map(|(lease, nack)| completed(&app, lease, nack));
    let nacks: Vec<Nack> = stream::iter(complete).buffered(LOOKED_UP_AT_ONCE).try_collect().await?;
    let outcomes = app.client().nack(nacks).await?;
    let outcome = |outcome| match outcome {
        NackOutcome::Retrying { after } => OutcomeBody::after("retrying", after),
        NackOutcome::Released { after } => OutcomeBody::after("released", after),
        NackOutcome::Dead => "dead".into(),
        NackOutcome::Cancelled => "cancelled".into(),
        NackOutcome::LeaseLost => "lease_lost".into(),
        NackOutcome::NotFound => "not_found".into(),
    };
    Ok(Answer(OutcomesBody { outcomes: outcomes.into_iter().map(outcome).collect() }))
}

/// Where a retry names no delay, with that of the subscription's policy or of the default one: it
/// depends on the attempt.
async fn completed(app: &App, lease: LeaseToken, nack: NackBody) -> Result<Nack, Problem> {
    let delay = match nack.delay_ms {
        Some(delay_ms) => Duration::from_millis(delay_ms),
        None if nack.kind == NackKind::Retry => {
            let job = app.client().jobs().get(lease.id).await?;
            let policy = job.as_ref().and_then(|job| retry_of_delivery(&job.queue, &job.metadata));
            let attempt = job.map_or(1, |job| job.attempts.max(1));
            policy.unwrap_or(RetryPolicy::DEFAULT).delay(attempt, chance())
        }
        None => Duration::ZERO,
    };
    Ok(Nack::new(lease, nack.kind, nack.error, delay))
}

impl OutcomeBody {
    fn after(outcome: &'static str, after: Duration) -> Self {
        Self { in_ms: Some(millis(after)), ..outcome.into() }
    }
}
