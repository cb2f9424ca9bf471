//! Results of the steps of a job, which its later runs need not do again (contract R13.10).

use axum::Json as Answer;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use queuekit::store::capability::{CheckpointOutcome, KeepCheckpoints, NewCheckpoint};
use queuekit::store::limits::CHECKPOINTS_BYTES;
use queuekit::store::{Checkpoint, CheckpointName, Checkpoints};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{OutcomeBody, lease_of};
use crate::api::app::App;
use crate::api::store_call::in_store;
use crate::web::response_budget;
use crate::web::store_calls::{self, CallSort};
use crate::web::{Caller, Json, Problem, WorkScope};
use crate::wire::{GivenBytes, ShownBytes, Time};

/// Memory for each byte of a result: the byte, and base64 of it, alone and in the JSON.
const BYTES_PER_BYTE: usize = 4;

/// The result of a step.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewCheckpoint)]
pub(crate) struct NewCheckpointBody {
    token: String,
    /// Name of the step, unique among those of the job.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$", example = "charge")]
    name: String,
    /// Any JSON value of at most 64 KiB; null if it is left out.
    #[schema(value_type = Option<serde_json::Value>)]
    result: Option<Box<RawValue>>,
    #[schema(format = Byte)]
    result_base64: Option<String>,
}

/// The lease of the job whose checkpoints are read.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ReadCheckpoints)]
pub(crate) struct ReadCheckpointsBody {
    token: String,
}

/// The checkpoints of a job.
#[derive(Serialize, ToSchema)]
#[schema(as = Checkpoints)]
pub(crate) struct CheckpointsBody<'a> {
    outcome: &'static str,
    /// The store's time of the read: how long ago a step was done is this minus its `at`.
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<Time>,
    /// In the order in which they were stored; empty if the lease is lost.
    checkpoints: Vec<CheckpointBody<'a>>,
}

/// The stored result of a step.
#[derive(Serialize, ToSchema)]
#[schema(as = Checkpoint)]
struct CheckpointBody<'a> {
    name: &'a str,
    /// When it was stored.
    at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_base64: Option<String>,
}

/// Stores the result of a step of a run.
#[utoipa::path(
    post, path = "/v1/checkpoint", tag = "work", security(("key" = [])),
    request_body(content = NewCheckpointBody, content_type = "application/json"),
    responses((status = 200,
        description = "`stored`, `conflict`, `full`, `lease_lost` or `not_found`.",
        body = OutcomeBody))
)]
pub(crate) async fn put_checkpoint(
    State(app): State<App>,
    caller: Caller,
    Json(body, budget, _): Json<WorkScope, NewCheckpointBody>,
) -> Result<Answer<OutcomeBody>, Problem> {
    let lease = lease_of(&caller, &body.token)?;
    let name = CheckpointName::new(body.name);
    let name = name.map_err(|error| Problem::from(error).in_field("name"))?;
    let given = GivenBytes { json: body.result, base64: body.result_base64 };
    let result = given.bytes("result")?.unwrap_or(Bytes::from_static(b"null"));
    let new = NewCheckpoint::new(lease, name, result);
    let new = new.map_err(|error| Problem::from(error).in_field("result"))?;
    let call = (CallSort::Extend, store_calls::items([new.result().len()].into_iter()));
    let here = app.clone();
    let putting = async move { Ok(keeps(&here)?.put_checkpoint(&new).await?) };
    let outcome = in_store(&app, &caller, call, budget, putting).await?;
    Ok(Answer(match outcome {
        CheckpointOutcome::Stored => "stored".into(),
        CheckpointOutcome::Conflict => "conflict".into(),
        CheckpointOutcome::Full => "full".into(),
        CheckpointOutcome::LeaseLost => "lease_lost".into(),
        CheckpointOutcome::NotFound => "not_found".into(),
    }))
}

/// Reads the results of the steps that this run and earlier ones have stored.
#[utoipa::path(
    post, path = "/v1/checkpoints", tag = "work", security(("key" = [])),
    request_body(content = ReadCheckpointsBody, content_type = "application/json"),
    responses((status = 200,
        description = "`held` with `now` and the checkpoints, or `lease_lost`.",
        body = CheckpointsBody))
)]
pub(crate) async fn read_checkpoints(
    State(app): State<App>,
    caller: Caller,
    Json(body, budget, _): Json<WorkScope, ReadCheckpointsBody>,
) -> Result<Response, Problem> {
    let lease = lease_of(&caller, &body.token)?;
    let call = (CallSort::Extend, store_calls::items([CHECKPOINTS_BYTES].into_iter()));
    let (here, reader) = (app.clone(), caller.clone());
    // The store answers only when there is room for all that a job may have.
    let reading = async move {
        let room = here.room_for_leases(&reader, BYTES_PER_BYTE * CHECKPOINTS_BYTES).await?;
        Ok((keeps(&here)?.checkpoints(&lease).await?, room))
    };
    let (read, mut room) = in_store(&app, &caller, call, budget, reading).await?;
    let stored = read.iter().flat_map(|read| &read.stored);
    room.shrink_to(BYTES_PER_BYTE * stored.map(|stored| stored.result.len()).sum::<usize>());
    response_budget::answer(room, &CheckpointsBody::of(read.as_ref())).await
}

impl<'a> CheckpointsBody<'a> {
    fn of(read: Option<&'a Checkpoints>) -> Self {
        match read {
            Some(Checkpoints { now, stored }) => Self {
                outcome: "held",
                now: Some(Time(*now)),
                checkpoints: stored.iter().map(CheckpointBody::of).collect(),
            },
            None => Self { outcome: "lease_lost", now: None, checkpoints: Vec::new() },
        }
    }
}

impl<'a> CheckpointBody<'a> {
    fn of(stored: &'a Checkpoint) -> Self {
        let result = ShownBytes::of(&stored.result);
        Self {
            name: stored.name.as_str(),
            at: Time(stored.at),
            result: result.json,
            result_base64: result.base64,
        }
    }
}

/// # Errors
/// 501 if the store keeps none.
fn keeps(app: &App) -> Result<&dyn KeepCheckpoints, Problem> {
    app.store().capabilities().checkpoints.ok_or_else(|| Problem::unsupported("checkpoints"))
}
