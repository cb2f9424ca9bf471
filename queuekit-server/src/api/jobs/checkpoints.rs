//! The steps that the runs of a job have done, for an operator.

use axum::Json as Answer;
use axum::extract::State;

use crate::api::app::App;
use crate::api::params::Id;
use crate::web::{Caller, Problem, Scope};
use crate::wire::{CheckpointInfoBody, CheckpointInfosBody, Time};

/// Lists the checkpoints of a job, without their results.
///
/// Only runs of the job read the results.
#[utoipa::path(
    get, path = "/v1/jobs/{id}/checkpoints", tag = "jobs", security(("key" = [])),
    params(("id" = String, Path, format = Uuid)),
    responses(
        (status = 200, description = "In the order in which they were stored.",
            body = CheckpointInfosBody),
        (status = 404, description = "The job does not exist."),
    )
)]
pub(crate) async fn list_checkpoints(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
) -> Result<Answer<CheckpointInfosBody>, Problem> {
    caller.need(Scope::Read)?;
    let _budget = app.budget_of_job(&caller).await?;
    app.job(&caller, id).await?;
    let listed = app.client().jobs().checkpoints(id).await?;
    let checkpoints = listed.into_iter().map(|stored| CheckpointInfoBody {
        name: stored.name.to_string(),
        at: Time(stored.at),
        bytes: stored.bytes,
    });
    Ok(Answer(CheckpointInfosBody { checkpoints: checkpoints.collect() }))
}
