//! Schedules: jobs at the times of a cron expression, or at an interval.

mod access;
mod put;
mod rate;
pub(super) mod run;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use queuekit::schedules::{Schedule, ScheduleEntry, ScheduleName};
use queuekit::store::backend::AnswerBytes;
use serde::Deserialize;
use utoipa::IntoParams;

use access::{found, scheduler, seen_by, sees, target};
use put::Put;

use super::answer_memory::BUDGET_BYTES;
use super::app::App;
use super::audit::audited;
use super::params::{Named, Params};
use super::quota_charge::QuotaCounted;
use crate::web::lookups::read_line;
use crate::web::memory_budget::RequestBudget;
use crate::web::off_the_runtime::slow_off_the_runtime;
use crate::web::{Caller, Json, ManageScope, Problem, Scope, response_budget};
use crate::wire::{NewScheduleBody, NextRunsBody, ScheduleBody, SchedulesBody, Time};

/// Most schedules on a page.
const PAGE: usize = 1000;

/// The start of a page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AfterQuery {
    /// `after` of the previous page: schedules behind this name.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    after: Option<String>,
}

/// The number of occurrences.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct CountQuery {
    #[param(minimum = 1, maximum = 100, default = 5)]
    count: Option<usize>,
}

/// Lists schedules by name.
#[utoipa::path(
    get, path = "/v1/schedules", tag = "schedules", security(("key" = [])), params(AfterQuery),
    responses((status = 200, description = "A page.", body = SchedulesBody))
)]
pub(super) async fn list_schedules(
    State(app): State<App>,
    caller: Caller,
    Params(query): Params<AfterQuery>,
) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    let mut after = query.after.map(ScheduleName::new).transpose()?;
    // A key has one such call at a time: it may read all schedules to find those of the key.
    let line = read_line(&caller).await?;
    let budget = app.budget(&caller).await?;
    let (scheduler, mut schedules) = (app.client().schedules(), Vec::new());
    // A page ends only at a schedule that the caller may see, because `after` names it.
    let (mut bytes, mut last) = (AnswerBytes::default(), None);
    'page: loop {
        let turn = line.turn().await?;
        let page = scheduler.list(after.as_ref(), PAGE).await?;
        // Reads of other keys come between two pages.
        drop(turn);
        for entry in page.schedules.into_iter().filter(|entry| sees(&caller, entry)) {
            if schedules.len() == PAGE || !bytes.admit(size(&entry)) {
                after = last;
                break 'page;
            }
            last = Some(entry.name.clone());
            schedules.push(ScheduleBody::of(entry, true));
        }
        after = page.after;
        if after.is_none() {
            break;
        }
        // Schedules that the caller may not see are read for it all the same.
        caller.owe(1);
    }
    drop(line);
    let body = SchedulesBody { schedules, after: after.map(String::from) };
    response_budget::answer(budget, &body).await
}

fn size(entry: &ScheduleEntry) -> usize {
    let Ok(schedule) = &entry.schedule else { return 0 };
    let job = schedule.definition.job();
    job.payload().len() + job.metadata().bytes()
}

/// Gets a schedule.
#[utoipa::path(
    get, path = "/v1/schedules/{name}", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 200, description = "The schedule.", body = ScheduleBody),
        (status = 404, description = "The schedule does not exist."),
    )
)]
pub(super) async fn get_schedule(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
) -> Result<Response, Problem> {
    let mut budget = app.no_budget(&caller);
    let schedule = found(&app, &caller, Scope::Read, &name, &mut budget).await?;
    let body = ScheduleBody::of(ScheduleEntry { name, schedule: Ok(schedule) }, true);
    response_budget::answer(budget, &body).await
}

/// Creates or replaces a schedule.
#[utoipa::path(
    put, path = "/v1/schedules/{name}", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path)),
    request_body(content = NewScheduleBody, content_type = "application/json"),
    responses(
        (status = 201, description = "The schedule was created.", body = ScheduleBody),
        (status = 200, description = "The schedule was replaced.", body = ScheduleBody),
        (status = 409, description = "The key has created as many schedules as it may, or they \
            would exceed its `per_second`; or the queue does not exist, and the key or the store \
            has as many queues as it may."),
    )
)]
pub(super) async fn put_schedule(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
    Json(body, mut budget, _): Json<ManageScope, NewScheduleBody>,
) -> Result<Response, Problem> {
    caller.need(Scope::Manage)?;
    let (paused, now) = (body.paused, app.now());
    let build = || {
        let definition = body.build(&name)?;
        let rate = rate::counted(&caller, &definition, now);
        Ok::<_, Problem>(Put { definition, rate, paused })
    };
    // To find the times of a cron expression, or that it has none, may take a while.
    let schedule = slow_off_the_runtime(&caller, build).await?;
    target(&caller, &schedule.definition)?;
    let here = app.clone();
    let putting = async move {
        let put = put::put(here, &mut budget, schedule).await?;
        Ok((budget, put))
    };
    let target = format!("schedule {name}");
    let (budget, (is_new, schedule)) = audited(&app, &caller, "put", target, putting).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let mut response = answer(budget, &caller, name, schedule).await?;
    *response.status_mut() = status;
    Ok(response)
}

/// Deletes a schedule; jobs that it has enqueued stay.
#[utoipa::path(
    delete, path = "/v1/schedules/{name}", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 204, description = "The schedule was deleted."),
        (status = 404, description = "The schedule does not exist."),
    )
)]
pub(super) async fn delete_schedule(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
) -> Result<StatusCode, Problem> {
    caller.need(Scope::Manage)?;
    let (here, asking, target) = (app.clone(), caller.clone(), format!("schedule {name}"));
    let removing = async move {
        // Other keys may wait for the turn, so the memory of the caller's key comes first.
        let mut budget = app.budget(&asking).await?;
        let _turn = app.limits().schedules.turns.of(&name).await;
        let may_change = seen_by(&asking);
        // An unreadable schedule can be deleted only with a key that is not restricted.
        if asking.is_bound() {
            found(&app, &asking, Scope::Manage, &name, &mut budget).await?;
        }
        let removed = match scheduler(&app, &asking, &may_change).delete(&name).await? {
            true => Ok(StatusCode::NO_CONTENT),
            false => Err(Problem::not_found("schedule")),
        };
        name.removed_if(&app, &removed);
        removed
    };
    audited(&here, &caller, "delete", target, removing).await
}

/// Pauses a schedule: it enqueues nothing until it is resumed.
#[utoipa::path(
    post, path = "/v1/schedules/{name}/pause", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 200, description = "The schedule.", body = ScheduleBody),
        (status = 404, description = "The schedule does not exist."),
    )
)]
pub(super) async fn pause_schedule(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
) -> Result<Response, Problem> {
    turn(&app, &caller, name, Turn::Pause).await
}

/// Resumes a paused schedule.
#[utoipa::path(
    post, path = "/v1/schedules/{name}/resume", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 200, description = "The schedule.", body = ScheduleBody),
        (status = 404, description = "The schedule does not exist."),
    )
)]
pub(super) async fn resume_schedule(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
) -> Result<Response, Problem> {
    turn(&app, &caller, name, Turn::Resume).await
}

/// Lets the next declaration of the code apply, even if the code has not changed.
#[utoipa::path(
    post, path = "/v1/schedules/{name}/reset", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 200, description = "The schedule.", body = ScheduleBody),
        (status = 404, description = "The schedule does not exist."),
    )
)]
pub(super) async fn reset_schedule(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
) -> Result<Response, Problem> {
    turn(&app, &caller, name, Turn::Reset).await
}

/// Lists the next occurrences of a schedule.
#[utoipa::path(
    get, path = "/v1/schedules/{name}/next", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path), CountQuery),
    responses(
        (status = 200, description = "The earliest first.", body = NextRunsBody),
        (status = 404, description = "The schedule does not exist."),
    )
)]
pub(super) async fn next_runs(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
    Params(CountQuery { count }): Params<CountQuery>,
) -> Result<Answer<NextRunsBody>, Problem> {
    let count = count.unwrap_or(5);
    if !(1..=100).contains(&count) {
        return Err(Problem::invalid("count", "count must be 1..=100"));
    }
    caller.need(Scope::Read)?;
    let (mut budget, turn) = app.look_up(&caller).await?;
    let schedule = found(&app, &caller, Scope::Read, &name, &mut budget).await?;
    drop(turn);
    let now = app.now();
    let next = slow_off_the_runtime(&caller, || schedule.upcoming(now, count)).await;
    let next = next.into_iter().map(Time).collect();
    Ok(Answer(NextRunsBody { next }))
}

#[derive(Clone, Copy)]
enum Turn {
    Pause,
    Resume,
    Reset,
}

async fn turn(
    app: &App,
    caller: &Caller,
    name: ScheduleName,
    turn: Turn,
) -> Result<Response, Problem> {
    let mut budget = app.no_budget(caller);
    let (here, asking, turned) = (app.clone(), caller.clone(), name.clone());
    let turning = async move {
        budget.wait_for(BUDGET_BYTES).await?;
        let _turn = here.limits().schedules.turns.of(&turned).await;
        let may_change = seen_by(&asking);
        found(&here, &asking, Scope::Manage, &turned, &mut budget).await?;
        let scheduler = scheduler(&here, &asking, &may_change);
        match turn {
            Turn::Pause => scheduler.pause(&turned).await?,
            Turn::Resume => scheduler.resume(&turned).await?,
            Turn::Reset => scheduler.reset(&turned).await?,
        }
        let schedule = found(&here, &asking, Scope::Manage, &turned, &mut budget).await?;
        Ok((budget, schedule))
    };
    let action = match turn {
        Turn::Pause => "pause",
        Turn::Resume => "resume",
        Turn::Reset => "reset",
    };
    let target = format!("schedule {name}");
    let (budget, schedule) = audited(app, caller, action, target, turning).await?;
    answer(budget, caller, name, schedule).await
}

async fn answer(
    budget: RequestBudget,
    caller: &Caller,
    name: ScheduleName,
    schedule: Schedule,
) -> Result<Response, Problem> {
    let entry = ScheduleEntry { name, schedule: Ok(schedule) };
    let body = ScheduleBody::of(entry, caller.has(Scope::Read));
    response_budget::answer(budget, &body).await
}
