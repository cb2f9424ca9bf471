//! Schedules: jobs at the times of a cron expression, or at an interval.

mod put;
mod rate;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use queuekit::schedules::{Definition, Schedule, ScheduleEntry, ScheduleName, Scheduler};
use queuekit::store::backend::AnswerBytes;
use serde::Deserialize;
use utoipa::IntoParams;

use super::app::App;
use super::audit::audited;
use super::params::{Named, Params};
use super::quota_charge::{QuotaCharge, QuotaCounted, with_quota};
use crate::web::{Caller, Json, ManageScope, Problem, Scope, response_budget};
use crate::wire::{
    NewScheduleBody, NextRunsBody, ScheduleBody, ScheduleRunBody, SchedulesBody, Time,
};

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
    let budget = app.budget(&caller).await?;
    let (scheduler, mut schedules) = (app.client().schedules(), Vec::new());
    // A page ends only at a schedule that the caller may see, because `after` names it.
    let (mut bytes, mut last) = (AnswerBytes::default(), None);
    'page: loop {
        let page = scheduler.list(after.as_ref(), PAGE).await?;
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
    caller.need(Scope::Read)?;
    let budget = app.budget(&caller).await?;
    let (_, schedule) = found(&app, &caller, Scope::Read, &name).await?;
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
    Json(body, ..): Json<ManageScope, NewScheduleBody>,
) -> Result<(StatusCode, Answer<ScheduleBody>), Problem> {
    caller.need(Scope::Manage)?;
    let paused = body.paused;
    // To find out that a cron expression matches no time may take a while.
    let definition = tokio::task::block_in_place(|| body.build(&name))?;
    target(&caller, &definition)?;
    let putting = put::put(app.clone(), caller.clone(), definition, paused);
    let target = format!("schedule {name}");
    let (is_new, schedule) = audited(&app, &caller, "put", target, putting).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let entry = ScheduleEntry { name, schedule: Ok(schedule) };
    Ok((status, Answer(ScheduleBody::of(entry, caller.has(Scope::Read)))))
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
        let _turn = app.limits().schedules.turns.of(&name).await;
        // An unreadable schedule can be deleted only with a key that is not restricted.
        if asking.is_bound() {
            found(&app, &asking, Scope::Manage, &name).await?;
        }
        let removed = match app.client().schedules().delete(&name).await? {
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
) -> Result<Answer<ScheduleBody>, Problem> {
    turn(&app, &caller, name, true).await
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
) -> Result<Answer<ScheduleBody>, Problem> {
    turn(&app, &caller, name, false).await
}

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
pub(super) async fn run_schedule(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
) -> Result<(StatusCode, Answer<ScheduleRunBody>), Problem> {
    let (_, schedule) = found(&app, &caller, Scope::Manage, &name).await?;
    let queue = schedule.definition.job().queue();
    let new_queue = QuotaCharge::admit(&app, &caller, std::iter::once(queue)).await?;
    let (here, asking, target) = (app.clone(), caller.clone(), format!("schedule {name}"));
    let running = async move {
        let _turn = app.limits().schedules.turns.of(&name).await;
        let (scheduler, _) = found(&app, &asking, Scope::Manage, &name).await?;
        Ok::<_, Problem>(scheduler.run_now(&name).await?)
    };
    let audited = async move { audited(&here, &caller, "run", target, running).await };
    let id = with_quota(new_queue, audited).await?;
    Ok((StatusCode::CREATED, Answer(ScheduleRunBody { id })))
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
    let (scheduler, _) = found(&app, &caller, Scope::Read, &name).await?;
    let next = scheduler.upcoming(&name, count).await?.into_iter().map(Time).collect();
    Ok(Answer(NextRunsBody { next }))
}

async fn turn(
    app: &App,
    caller: &Caller,
    name: ScheduleName,
    paused: bool,
) -> Result<Answer<ScheduleBody>, Problem> {
    let (here, asking, turned) = (app.clone(), caller.clone(), name.clone());
    let turning = async move {
        let _turn = here.limits().schedules.turns.of(&turned).await;
        let (scheduler, _) = found(&here, &asking, Scope::Manage, &turned).await?;
        let name = turned.clone();
        if paused {
            scheduler.pause(&name).await?
        } else {
            scheduler.resume(&name).await?
        }
        scheduler.get(&name).await?.ok_or_else(|| Problem::not_found("schedule"))
    };
    let (action, target) = (if paused { "pause" } else { "resume" }, format!("schedule {name}"));
    let schedule = audited(app, caller, action, target, turning).await?;
    let entry = ScheduleEntry { name, schedule: Ok(schedule) };
    Ok(Answer(ScheduleBody::of(entry, caller.has(Scope::Read))))
}

async fn found<'a>(
    app: &'a App,
    caller: &Caller,
    scope: Scope,
    name: &ScheduleName,
) -> Result<(Scheduler<'a>, Schedule), Problem> {
    caller.need(scope)?;
    let scheduler = app.client().schedules();
    let schedule = scheduler.get(name).await?.filter(|found| {
        let job = found.definition.job();
        caller.sees_queue(job.queue().as_str()) && caller.sees_kind(job.kind().as_str())
    });
    Ok((scheduler, schedule.ok_or_else(|| Problem::not_found("schedule"))?))
}

/// Checks the key against the schedule of this name, if there is one. Call it while nobody can
/// replace the schedule.
async fn need_own(app: &App, caller: &Caller, name: &ScheduleName) -> Result<(), Problem> {
    if caller.is_bound()
        && let Some(old) = app.client().schedules().get(name).await?
    {
        // Do not reveal whose it is.
        target(caller, &old.definition)
            .map_err(|_| Problem::forbidden("a schedule that the key is not for has this name"))?;
    }
    Ok(())
}

/// Checks the key against the queue and kind of the schedule's job.
fn target(caller: &Caller, definition: &Definition) -> Result<(), Problem> {
    caller.need_queue(definition.job().queue().as_str())?;
    caller.need_kind(definition.job().kind().as_str())
}

fn sees(caller: &Caller, entry: &ScheduleEntry) -> bool {
    match &entry.schedule {
        Ok(schedule) => target(caller, &schedule.definition).is_ok(),
        Err(_) => !caller.is_bound(),
    }
}
