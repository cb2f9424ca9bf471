//! What an operator does with one job.

use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use queuekit::capability::{CancelOutcome, RescheduleOutcome, RetryOutcome};
use queuekit::{Burial, BuryOutcome, JobId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::app::App;
use crate::api::audit::audit;
use crate::api::params::{Force, Id, Params};
use crate::http::{Caller, Json, Problem, Scope, ToAdmin};

/// What became of it.
#[derive(Serialize, ToSchema)]
#[schema(as = Done)]
pub(crate) struct DoneBody {
    outcome: &'static str,
}

/// When it is to run.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Reschedule)]
pub(crate) struct RescheduleBody {
    /// From now on; 0 is at once.
    #[schema(maximum = 31622400000_u64)]
    delay_ms: u64,
}

/// Why it is buried.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Bury)]
pub(crate) struct BuryBody {
    /// Shown with the job.
    reason: String,
    /// Though a worker holds it.
    #[serde(default)]
    force: bool,
}

/// Deletes a job that nobody runs.
#[utoipa::path(
    delete, path = "/v1/jobs/{id}", tag = "jobs", security(("key" = [])),
    params(("id" = String, Path, format = Uuid), Force),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "It is not stored."),
        (status = 409, description = "It runs."),
    )
)]
pub(crate) async fn delete_job(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
    Params(Force { force }): Params<Force>,
) -> Result<StatusCode, Problem> {
    let doing = async {
        let deleted = app.store().delete_job(id, force).await?;
        if deleted { Ok("deleted") } else { Err(Problem::not_found("job")) }
    };
    act(&app, &caller, "delete", id, doing).await.map(|_| StatusCode::NO_CONTENT)
}

/// Brings a dead or cancelled job back.
#[utoipa::path(
    post, path = "/v1/jobs/{id}/retry", tag = "jobs", security(("key" = [])),
    params(("id" = String, Path, format = Uuid)),
    responses(
        (status = 200, description = "retried", body = DoneBody),
        (status = 404, description = "It is not stored."),
        (status = 409, description = "It has not ended, is completed, or another job has its key."),
    )
)]
pub(crate) async fn retry(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
) -> Result<Answer<DoneBody>, Problem> {
    let doing = async {
        match only(app.admin()?.retry(&[id]).await?)? {
            RetryOutcome::Retried => Ok("retried"),
            RetryOutcome::Conflict => Err(Problem::conflict(
                "the job has not ended, is completed, or another job has its idempotency key by \
                 now",
            )),
            RetryOutcome::NotFound => Err(Problem::not_found("job")),
        }
    };
    act(&app, &caller, "retry", id, doing).await
}

/// Calls a job off; one that runs is asked to stop.
#[utoipa::path(
    post, path = "/v1/jobs/{id}/cancel", tag = "jobs", security(("key" = [])),
    params(("id" = String, Path, format = Uuid)),
    responses(
        (status = 200, description = "cancelled, requested or already_done", body = DoneBody),
        (status = 404, description = "It is not stored."),
        (status = 409, description = "It has ended otherwise."),
    )
)]
pub(crate) async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
) -> Result<Answer<DoneBody>, Problem> {
    let doing = async {
        match only(app.admin()?.cancel(&[id]).await?)? {
            CancelOutcome::Cancelled => Ok("cancelled"),
            CancelOutcome::Requested => Ok("requested"),
            CancelOutcome::AlreadyDone => Ok("already_done"),
            CancelOutcome::Conflict => Err(Problem::conflict("the job has ended otherwise")),
            CancelOutcome::NotFound => Err(Problem::not_found("job")),
        }
    };
    act(&app, &caller, "cancel", id, doing).await
}

/// Sets when a waiting job runs.
#[utoipa::path(
    post, path = "/v1/jobs/{id}/reschedule", tag = "jobs", security(("key" = [])),
    params(("id" = String, Path, format = Uuid)),
    request_body(content = RescheduleBody, content_type = "application/json"),
    responses(
        (status = 200, description = "rescheduled", body = DoneBody),
        (status = 404, description = "It is not stored."),
        (status = 409, description = "It does not wait."),
    )
)]
pub(crate) async fn reschedule(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
    Json(body, ..): Json<ToAdmin, RescheduleBody>,
) -> Result<Answer<DoneBody>, Problem> {
    let delay = Duration::from_millis(body.delay_ms);
    let doing = async {
        match only(app.admin()?.reschedule(&[id], delay).await?)? {
            RescheduleOutcome::Rescheduled => Ok("rescheduled"),
            RescheduleOutcome::Conflict => Err(Problem::conflict("the job is not pending")),
            RescheduleOutcome::NotFound => Err(Problem::not_found("job")),
        }
    };
    act(&app, &caller, "reschedule", id, doing).await
}

/// Moves a job to the dead-letter queue.
#[utoipa::path(
    post, path = "/v1/jobs/{id}/bury", tag = "jobs", security(("key" = [])),
    params(("id" = String, Path, format = Uuid)),
    request_body(content = BuryBody, content_type = "application/json"),
    responses(
        (status = 200, description = "buried or already_done", body = DoneBody),
        (status = 404, description = "It is not stored."),
        (status = 409, description = "It runs, or has ended otherwise."),
    )
)]
pub(crate) async fn bury(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
    Json(body, ..): Json<ToAdmin, BuryBody>,
) -> Result<Answer<DoneBody>, Problem> {
    let burial = match body.force {
        true => Burial::forced(id, body.reason.as_str()),
        false => Burial::of_job(id, body.reason.as_str()),
    };
    let doing = async {
        match only(app.store().move_to_dlq(&[burial]).await?)? {
            BuryOutcome::Buried => Ok("buried"),
            BuryOutcome::AlreadyDone => Ok("already_done"),
            BuryOutcome::Conflict | BuryOutcome::LeaseLost => Err(Problem::conflict(
                "the job runs, or has ended otherwise; force buries one that runs",
            )),
            BuryOutcome::NotFound => Err(Problem::not_found("job")),
        }
    };
    act(&app, &caller, "bury", id, doing).await
}

/// What all of them share: who may do it, and that it is told.
async fn act(
    app: &App,
    caller: &Caller,
    action: &str,
    id: JobId,
    doing: impl Future<Output = Result<&'static str, Problem>>,
) -> Result<Answer<DoneBody>, Problem> {
    caller.need(Scope::Admin)?;
    app.need_job(caller, id).await?;
    let outcome = doing.await;
    let word = match &outcome {
        Ok(done) => done,
        Err(problem) => problem.kind(),
    };
    audit(caller, action, format_args!("job {id}"), word);
    outcome.map(|outcome| Answer(DoneBody { outcome }))
}

fn only<T>(outcomes: Vec<T>) -> Result<T, Problem> {
    outcomes.into_iter().next().ok_or_else(|| {
        let message = "the store answered no outcome; report a bug of the store";
        queuekit::Error::new(queuekit::ErrorKind::Indeterminate, message).into()
    })
}
