//! Jobs at the times of a cron expression, or every so often.

mod body;
mod put;
mod rate;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use queuekit::schedule::{Definition, ScheduleEntry};
use queuekit::{Schedule, ScheduleName, Scheduler};
use serde::Deserialize;
use utoipa::IntoParams;

use super::app::App;
use super::audit::audited;
use super::creating::{Counted, Creating, creating, to_its_end};
use super::params::{Named, Params};
use super::portion::Portion;
use super::wire::Time;
use crate::http::{Caller, Json, Problem, Scope, ToManage, held};
use body::{Answered, GivenBody, NextBody, RunBody, SchedulesBody};

/// Schedules that a page shows.
const PAGE: usize = 1000;

/// Where a page begins.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AfterQuery {
    /// Behind this name.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    after: Option<String>,
}

/// How many.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct CountQuery {
    #[param(minimum = 1, maximum = 100, default = 5)]
    count: Option<usize>,
}

/// Schedules by name.
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
    let room = app.room(&caller).await?;
    let (scheduler, mut schedules) = (app.client().schedules(), Vec::new());
    let mut portion = Portion::new(PAGE);
    'page: loop {
        let part = portion.part();
        let page = scheduler.list(after.as_ref(), part).await?;
        let is_last = page.len() < part;
        for entry in page {
            after = Some(entry.name.clone());
            if !sees(&caller, &entry) {
                portion.passed(size(&entry));
                continue;
            }
            let is_enough = portion.took([size(&entry)]);
            schedules.push(Answered::of(entry, true));
            // The name behind which to go on is of one that the caller may see.
            if is_enough {
                break 'page;
            }
        }
        if is_last {
            after = None;
            break;
        }
    }
    let body = SchedulesBody { schedules, after: after.map(String::from) };
    held::answer(room, serde_json::to_vec(&body).unwrap_or_default()).await
}

fn size(entry: &ScheduleEntry) -> usize {
    let Ok(schedule) = &entry.schedule else { return 0 };
    let job = schedule.definition.job();
    job.payload().len() + job.metadata().bytes()
}

/// A schedule.
#[utoipa::path(
    get, path = "/v1/schedules/{name}", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 200, description = "The schedule.", body = Answered),
        (status = 404, description = "There is none."),
    )
)]
pub(super) async fn get_schedule(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
) -> Result<Answer<Answered>, Problem> {
    let (_, schedule) = found(&app, &caller, Scope::Read, &name).await?;
    Ok(Answer(Answered::of(ScheduleEntry { name, schedule: Ok(schedule) }, true)))
}

/// Creates a schedule, or replaces what it says.
#[utoipa::path(
    put, path = "/v1/schedules/{name}", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path)),
    request_body(content = GivenBody, content_type = "application/json"),
    responses(
        (status = 201, description = "There was none.", body = Answered),
        (status = 200, description = "It was replaced.", body = Answered),
        (status = 409, description = "The key has created as many as it may, or its schedules run \
            as often; or the queue is new, and the key or the store has as many as it may."),
    )
)]
pub(super) async fn put_schedule(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
    Json(body, ..): Json<ToManage, GivenBody>,
) -> Result<(StatusCode, Answer<Answered>), Problem> {
    caller.need(Scope::Manage)?;
    let scheduler = app.client().schedules();
    if caller.is_bound()
        && let Some(old) = scheduler.get(&name).await?
    {
        // Not whose it is.
        target(&caller, &old.definition)
            .map_err(|_| Problem::forbidden("this name is taken by a schedule of others"))?;
    }
    let paused = body.paused;
    let definition = body.build(&name)?;
    target(&caller, &definition)?;
    let (by, target) = (caller.clone(), format!("schedule {name}"));
    let putting = async move {
        let put = put::put(app, by.clone(), definition, paused).await;
        audited(&by, "put", target, put)
    };
    let (is_new, schedule) = to_its_end(putting).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let entry = ScheduleEntry { name, schedule: Ok(schedule) };
    Ok((status, Answer(Answered::of(entry, caller.has(Scope::Read)))))
}

/// Removes a schedule; jobs that it has enqueued stay.
#[utoipa::path(
    delete, path = "/v1/schedules/{name}", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "There is none."),
    )
)]
pub(super) async fn delete_schedule(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
) -> Result<StatusCode, Problem> {
    caller.need(Scope::Manage)?;
    let scheduler = app.client().schedules();
    // One that cannot be read can be removed by who may remove all.
    if caller.is_bound() {
        found(&app, &caller, Scope::Manage, &name).await?;
    }
    let removing = async {
        let removed = scheduler.delete(&name).await?;
        if removed { Ok(StatusCode::NO_CONTENT) } else { Err(Problem::not_found("schedule")) }
    };
    let removed = removing.await;
    name.removed_if(&app, &removed);
    audited(&caller, "delete", format_args!("schedule {name}"), removed)
}

/// Enqueues nothing until it is resumed.
#[utoipa::path(
    post, path = "/v1/schedules/{name}/pause", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 200, description = "The schedule as it is now.", body = Answered),
        (status = 404, description = "There is none."),
    )
)]
pub(super) async fn pause_schedule(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
) -> Result<Answer<Answered>, Problem> {
    turn(&app, &caller, name, true).await
}

/// Ends a pause.
#[utoipa::path(
    post, path = "/v1/schedules/{name}/resume", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 200, description = "The schedule as it is now.", body = Answered),
        (status = 404, description = "There is none."),
    )
)]
pub(super) async fn resume_schedule(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
) -> Result<Answer<Answered>, Problem> {
    turn(&app, &caller, name, false).await
}

/// Enqueues its job at once.
#[utoipa::path(
    post, path = "/v1/schedules/{name}/run", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 201, description = "The job.", body = RunBody),
        (status = 404, description = "There is none."),
        (status = 409, description = "The queue is new, and the key or the store has as many as it \
            may."),
        (status = 429, description = "The queue is full."),
    )
)]
pub(super) async fn run_schedule(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
) -> Result<(StatusCode, Answer<RunBody>), Problem> {
    let (_, schedule) = found(&app, &caller, Scope::Manage, &name).await?;
    let queue = schedule.definition.job().queue();
    let new_queue = Creating::admit(&app, &caller, std::iter::once(queue)).await?;
    let running = async move {
        let id = app.client().schedules().run_now(&name).await.map_err(Problem::from);
        audited(&caller, "run", format_args!("schedule {name}"), id)
    };
    let id = creating(new_queue, running).await?;
    Ok((StatusCode::CREATED, Answer(RunBody { id })))
}

/// Its next nominal times.
#[utoipa::path(
    get, path = "/v1/schedules/{name}/next", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path), CountQuery),
    responses(
        (status = 200, description = "The earliest first.", body = NextBody),
        (status = 404, description = "There is none."),
    )
)]
pub(super) async fn next_runs(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
    Params(CountQuery { count }): Params<CountQuery>,
) -> Result<Answer<NextBody>, Problem> {
    let count = count.unwrap_or(5);
    if !(1..=100).contains(&count) {
        return Err(Problem::invalid("count", "count must be 1..=100"));
    }
    let (scheduler, _) = found(&app, &caller, Scope::Read, &name).await?;
    let next = scheduler.upcoming(&name, count).await?.into_iter().map(Time).collect();
    Ok(Answer(NextBody { next }))
}

async fn turn(
    app: &App,
    caller: &Caller,
    name: ScheduleName,
    paused: bool,
) -> Result<Answer<Answered>, Problem> {
    let (scheduler, _) = found(app, caller, Scope::Manage, &name).await?;
    let turning = async {
        if paused {
            scheduler.pause(&name).await?
        } else {
            scheduler.resume(&name).await?
        }
        scheduler.get(&name).await?.ok_or_else(|| Problem::not_found("schedule"))
    };
    let (turned, action) = (turning.await, if paused { "pause" } else { "resume" });
    let schedule = audited(caller, action, format_args!("schedule {name}"), turned)?;
    let entry = ScheduleEntry { name, schedule: Ok(schedule) };
    Ok(Answer(Answered::of(entry, caller.has(Scope::Read))))
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
        caller.sees_queue(job.queue().as_str()) && caller.sees_type(job.kind().as_str())
    });
    Ok((scheduler, schedule.ok_or_else(|| Problem::not_found("schedule"))?))
}

/// A schedule writes where its job goes.
fn target(caller: &Caller, definition: &Definition) -> Result<(), Problem> {
    caller.need_queue(definition.job().queue().as_str())?;
    caller.need_type(definition.job().kind().as_str())
}

fn sees(caller: &Caller, entry: &ScheduleEntry) -> bool {
    match &entry.schedule {
        Ok(schedule) => target(caller, &schedule.definition).is_ok(),
        Err(_) => !caller.is_bound(),
    }
}
