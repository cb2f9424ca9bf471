//! Enqueues the job of a schedule now, within the quotas of the key.

use std::iter::once;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use queuekit::schedules::ScheduleName;

use super::access::{found, scheduler, seen_by};
use crate::api::app::App;
use crate::api::audit::audited;
use crate::api::params::Named;
use crate::api::quota_charge::{QuotaCharge, with_quota};
use crate::web::store_calls::{self, CallSort};
use crate::web::{Caller, Problem, Scope};
use crate::wire::ScheduleRunBody;

/// Enqueues the job of a schedule now.
#[utoipa::path(
    post, path = "/v1/schedules/{name}/run", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 201, description = "The job.", body = ScheduleRunBody),
        (status = 404, description = "The schedule does not exist."),
        (status = 409, description = "The queue does not exist, and the key or the store has as \
            many queues as it may."),
        (status = 429, description = "The queue is full."),
    )
)]
pub(crate) async fn run_schedule(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
) -> Result<(StatusCode, Answer<ScheduleRunBody>), Problem> {
    let mut budget = app.no_budget(&caller);
    let schedule = found(&app, &caller, Scope::Manage, &name, &mut budget).await?;
    let job = schedule.definition.job();
    let (queue, items) = (job.queue().clone(), store_calls::items(once(job.payload().len())));
    // Hold no schedule while waiting for a place.
    drop((schedule, budget));
    let new_queue = QuotaCharge::admit(&app, &caller, once(&queue)).await?;
    let (here, asking, target) = (app.clone(), caller.clone(), format!("schedule {name}"));
    let running = async move {
        let _place = app.limits().store_calls.place(CallSort::Enqueue, &asking, items).await?;
        let mut budget = app.budget(&asking).await?;
        let _turn = app.limits().schedules.turns.of(&name).await;
        let may_change = seen_by(&asking);
        found(&app, &asking, Scope::Manage, &name, &mut budget).await?;
        Ok::<_, Problem>(scheduler(&app, &asking, &may_change).run_now(&name).await?)
    };
    let audited = async move { audited(&here, &caller, "run", target, running).await };
    let id = with_quota(new_queue, audited).await?;
    Ok((StatusCode::CREATED, Answer(ScheduleRunBody { id })))
}
