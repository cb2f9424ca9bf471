//! An operator's actions on one job.

use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use queuekit::JobId;
use queuekit::jobs::CancelOutcome;
use queuekit::store::capability::{Act, RescheduleOutcome, RetryOutcome};
use queuekit::store::{DeadLetter, DeadLetterOutcome};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::app::App;
use crate::api::audit::audited_as;
use crate::api::params::{Force, Id, Params};
use crate::web::memory_budget::RequestBudget;
use crate::web::{AdminScope, Caller, Json, OptionalJson, Problem, Scope};

/// The outcome of an action.
#[derive(Serialize, ToSchema)]
#[schema(as = Done)]
pub(crate) struct DoneBody {
    outcome: &'static str,
}

/// How a job is retried.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Retry)]
pub(crate) struct RetryBody {
    /// Remove the job's checkpoints first, so that all of its steps run again.
    #[serde(default)]
    fresh: bool,
}

/// When a job is to run.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Reschedule)]
pub(crate) struct RescheduleBody {
    /// Delay from now; 0: at once.
    #[schema(maximum = 31622400000_u64)]
    delay_ms: u64,
}

/// Why a job is dead-lettered.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DeadLetter)]
pub(crate) struct DeadLetterBody {
    /// Shown with the job.
    reason: String,
    /// Dead-letter the job even if it is running.
    #[serde(default)]
    force: bool,
}

/// Deletes a job; a running one only with `force`.
#[utoipa::path(
    delete, path = "/v1/jobs/{id}", tag = "jobs", security(("key" = [])),
    params(("id" = String, Path, format = Uuid), Force),
    responses(
        (status = 204, description = "The job was deleted."),
        (status = 404, description = "The job does not exist."),
        (status = 409, description = "The job is running."),
    )
)]
pub(crate) async fn delete_job(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
    Params(Force { force }): Params<Force>,
) -> Result<StatusCode, Problem> {
    let doing = |app: App| async move { Ok(Deleted(app.store().delete_job(id, force).await?)) };
    act(&app, &caller, "delete", id, app.no_budget(&caller), doing)
        .await
        .map(|_| StatusCode::NO_CONTENT)
}

/// Retries a dead or cancelled job, with all its attempts.
#[utoipa::path(
    post, path = "/v1/jobs/{id}/retry", tag = "jobs", security(("key" = [])),
    params(("id" = String, Path, format = Uuid)),
    request_body(content = Option<RetryBody>, content_type = "application/json"),
    responses(
        (status = 200, description = "`retried`", body = DoneBody),
        (status = 404, description = "The job does not exist."),
        (status = 409, description = "The job has not ended, is completed, or another job now has \
            its idempotency key."),
    )
)]
pub(crate) async fn retry(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
    OptionalJson(body, _): OptionalJson<AdminScope, RetryBody>,
) -> Result<Answer<DoneBody>, Problem> {
    let (budget, jobs) = (app.no_budget(&caller), app.client().clone());
    if body.fresh {
        let doing = |_| async move {
            let is_retried = jobs.jobs().retry_fresh(id).await?;
            Ok(if is_retried { RetryOutcome::Retried } else { RetryOutcome::Conflict })
        };
        return act(&app, &caller, "retry fresh", id, budget, doing).await;
    }
    let doing = |app: App| async move { only(app.admin()?.retry(&[id]).await?) };
    act(&app, &caller, "retry", id, budget, doing).await
}

/// Cancels a job; a running one is asked to stop.
#[utoipa::path(
    post, path = "/v1/jobs/{id}/cancel", tag = "jobs", security(("key" = [])),
    params(("id" = String, Path, format = Uuid)),
    responses(
        (status = 200, description = "`cancelled`, `requested` or `already_done`", body = DoneBody),
        (status = 404, description = "The job does not exist."),
        (status = 409, description = "The job is completed or dead."),
    )
)]
pub(crate) async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
) -> Result<Answer<DoneBody>, Problem> {
    let doing = |app: App| async move { only(app.admin()?.cancel(&[id]).await?) };
    act(&app, &caller, "cancel", id, app.no_budget(&caller), doing).await
}

/// Sets when a pending job may run.
#[utoipa::path(
    post, path = "/v1/jobs/{id}/reschedule", tag = "jobs", security(("key" = [])),
    params(("id" = String, Path, format = Uuid)),
    request_body(content = RescheduleBody, content_type = "application/json"),
    responses(
        (status = 200, description = "`rescheduled`", body = DoneBody),
        (status = 404, description = "The job does not exist."),
        (status = 409, description = "The job is not pending."),
    )
)]
pub(crate) async fn reschedule(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
    Json(body, budget, _): Json<AdminScope, RescheduleBody>,
) -> Result<Answer<DoneBody>, Problem> {
    let delay = Duration::from_millis(body.delay_ms);
    let doing = |app: App| async move { only(app.admin()?.reschedule(&[id], delay).await?) };
    act(&app, &caller, "reschedule", id, budget, doing).await
}

/// Dead-letters a job.
#[utoipa::path(
    post, path = "/v1/jobs/{id}/dead-letter", tag = "jobs", security(("key" = [])),
    params(("id" = String, Path, format = Uuid)),
    request_body(content = DeadLetterBody, content_type = "application/json"),
    responses(
        (status = 200, description = "`dead_lettered` or `already_done`", body = DoneBody),
        (status = 404, description = "The job does not exist."),
        (status = 409, description = "The job is running, completed or cancelled."),
    )
)]
pub(crate) async fn dead_letter(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
    Json(body, budget, _): Json<AdminScope, DeadLetterBody>,
) -> Result<Answer<DoneBody>, Problem> {
    let dead_letter = match body.force {
        true => DeadLetter::forced(id, body.reason.as_str()),
        false => DeadLetter::of_job(id, body.reason.as_str()),
    };
    let doing = |app: App| async move { only(app.store().dead_letter(&[dead_letter]).await?) };
    act(&app, &caller, "dead-letter", id, budget, doing).await
}

/// Checks that the caller may do this, does it, and records it.
async fn act<F, O>(
    app: &App,
    caller: &Caller,
    action: &str,
    id: JobId,
    mut budget: RequestBudget,
    doing: impl FnOnce(App) -> F,
) -> Result<Answer<DoneBody>, Problem>
where
    F: Future<Output = Result<O, Problem>> + Send + 'static,
    O: ActionOutcome + 'static,
{
    caller.need(Scope::Admin)?;
    // Before the action: a key for other queues must not learn by the outcome whether the job
    // exists.
    app.need_job(caller, id, &mut budget).await?;
    // The check has freed the job that it read, and the action reads none.
    drop(budget);
    let act = Act::new(caller.who(), action, &format!("job {id}"));
    let doing = doing(app.clone());
    let doing = async move { doing.await.and_then(ActionOutcome::word) };
    let done = audited_as(app, caller, act, doing, |act, word| act.with_outcome(word));
    done.await.map(|outcome| Answer(DoneBody { outcome }))
}

fn only<T>(outcomes: Vec<T>) -> Result<T, Problem> {
    outcomes.into_iter().next().ok_or_else(|| {
        let message = "the store answered no outcome; report this bug of the store";
        queuekit::Error::new(queuekit::ErrorKind::Indeterminate, message).into()
    })
}

/// What a store answers to an action on one job.
trait ActionOutcome {
    /// The word for it.
    ///
    /// # Errors
    /// 404 or 409 if the action was not done.
    fn word(self) -> Result<&'static str, Problem>;
}

/// Whether the job was there to delete.
struct Deleted(bool);

impl ActionOutcome for Deleted {
    fn word(self) -> Result<&'static str, Problem> {
        if self.0 { Ok("deleted") } else { Err(Problem::not_found("job")) }
    }
}

impl ActionOutcome for RetryOutcome {
    fn word(self) -> Result<&'static str, Problem> {
        match self {
            Self::Retried => Ok("retried"),
            Self::Conflict => Err(Problem::conflict(
                "the job has not ended, is completed, or another job now has its idempotency key",
            )),
            Self::NotFound => Err(Problem::not_found("job")),
        }
    }
}

impl ActionOutcome for CancelOutcome {
    fn word(self) -> Result<&'static str, Problem> {
        match self {
            Self::Cancelled => Ok("cancelled"),
            Self::Requested => Ok("requested"),
            Self::AlreadyDone => Ok("already_done"),
            Self::Conflict => Err(Problem::conflict("the job is completed or dead")),
            Self::NotFound => Err(Problem::not_found("job")),
        }
    }
}

impl ActionOutcome for RescheduleOutcome {
    fn word(self) -> Result<&'static str, Problem> {
        match self {
            Self::Rescheduled => Ok("rescheduled"),
            Self::Conflict => Err(Problem::conflict("the job is not pending")),
            Self::NotFound => Err(Problem::not_found("job")),
        }
    }
}

impl ActionOutcome for DeadLetterOutcome {
    fn word(self) -> Result<&'static str, Problem> {
        match self {
            Self::DeadLettered => Ok("dead_lettered"),
            Self::AlreadyDone => Ok("already_done"),
            Self::Conflict | Self::LeaseLost => Err(Problem::conflict(
                "the job is running, completed or cancelled; with `force` a running job is \
                 dead-lettered",
            )),
            Self::NotFound => Err(Problem::not_found("job")),
        }
    }
}
