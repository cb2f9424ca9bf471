//! Jobs at the times of a cron expression, or every so often.

use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use queuekit::schedule::{Definition, ScheduleEntry, Timing};
use queuekit::{CatchUp, JobId, Overlap, Schedule, ScheduleDraft, ScheduleName, Scheduler};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::app::App;
use super::params::{Named, Params};
use super::wire::{NewJobBody, Shown, Time, millis};
use crate::http::{Caller, Json, Problem, ProblemBody, Scope};

/// Schedules that a page shows.
const PAGE: usize = 1000;

/// Schedules by name.
#[derive(Serialize, ToSchema)]
#[schema(as = Schedules)]
pub(super) struct SchedulesBody {
    schedules: Vec<Answered>,
    /// Where the next page begins: `after` this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

/// A schedule.
#[derive(Serialize, ToSchema)]
#[schema(as = Schedule)]
pub(super) struct Answered {
    name: String,
    /// Why it cannot be read, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(flatten)]
    says: Option<SaysBody>,
}

/// What a schedule says, and what is known of it.
#[derive(Serialize, ToSchema)]
#[schema(as = ScheduleSays)]
struct SaysBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    cron: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    every_ms: Option<u64>,
    /// When that is, in words.
    description: String,
    job: TemplateBody,
    #[schema(value_type = serde_json::Value)]
    catch_up: CatchUp,
    #[schema(value_type = String)]
    overlap: Overlap,
    jitter_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    start: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    end: Option<Time>,
    paused: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    next_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<LastBody>,
    /// How many jobs it has enqueued.
    enqueued: u64,
    revision: u64,
}

/// What it enqueues.
#[derive(Serialize, ToSchema)]
#[schema(as = ScheduledJob)]
struct TemplateBody {
    queue: String,
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
}

/// Its latest occurrence that was enqueued.
#[derive(Serialize, ToSchema)]
#[schema(as = Occurrence)]
struct LastBody {
    #[schema(value_type = String, format = DateTime)]
    nominal: Time,
    #[schema(value_type = String, format = Uuid)]
    job: JobId,
}

/// What a schedule is to be: a cron expression or an interval.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ScheduleGiven)]
pub(super) struct GivenBody {
    /// Five or six fields.
    #[schema(example = "30 2 * * *")]
    cron: Option<String>,
    /// Of the expression: `Europe/Berlin` [UTC].
    zone: Option<String>,
    #[schema(minimum = 1000, maximum = 31622400000_u64)]
    every_ms: Option<u64>,
    /// Without id, times and idempotency key: each occurrence has its own.
    job: NewJobBody,
    /// skip, once, or {"all": N}: what becomes of occurrences that nobody was there for.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    catch_up: CatchUp,
    /// allow or skip: whether it runs beside the one before.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    overlap: Overlap,
    #[serde(default)]
    #[schema(maximum = 31622400000_u64)]
    jitter_ms: u64,
    #[schema(value_type = Option<String>, format = DateTime)]
    start: Option<Time>,
    #[schema(value_type = Option<String>, format = DateTime)]
    end: Option<Time>,
    /// Whether it enqueues nothing from now on; without it a pause stays as it is.
    paused: Option<bool>,
}

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

/// The job of a run that was asked for.
#[derive(Serialize, ToSchema)]
#[schema(as = ScheduleRun)]
pub(super) struct RunBody {
    #[schema(value_type = String, format = Uuid)]
    id: JobId,
}

/// Nominal times.
#[derive(Serialize, ToSchema)]
#[schema(as = NextRuns)]
pub(super) struct NextBody {
    #[schema(value_type = Vec<String>)]
    next: Vec<Time>,
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
) -> Result<Answer<SchedulesBody>, Problem> {
    caller.need(Scope::Read)?;
    let after = query.after.map(ScheduleName::new).transpose()?;
    let page = app.client().scheduler()?.list(after.as_ref(), PAGE).await?;
    let last = page.last().filter(|_| page.len() == PAGE);
    let after = last.map(|entry| entry.name.to_string());
    let schedules = page.into_iter().filter(|entry| sees(&caller, entry)).map(Answered::of);
    Ok(Answer(SchedulesBody { schedules: schedules.collect(), after }))
}

/// A schedule.
#[utoipa::path(
    get, path = "/v1/schedules/{name}", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 200, description = "The schedule.", body = Answered),
        (status = 404, description = "There is none.", body = ProblemBody,
            content_type = "application/problem+json"),
    )
)]
pub(super) async fn get_schedule(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
) -> Result<Answer<Answered>, Problem> {
    let (_, schedule) = found(&app, &caller, Scope::Read, &name).await?;
    Ok(Answer(Answered::of(ScheduleEntry { name, schedule: Ok(schedule) })))
}

/// Creates a schedule, or replaces what it says.
#[utoipa::path(
    put, path = "/v1/schedules/{name}", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path)),
    request_body(content = GivenBody, content_type = "application/json"),
    responses(
        (status = 201, description = "There was none.", body = Answered),
        (status = 200, description = "It was replaced.", body = Answered),
    )
)]
pub(super) async fn put_schedule(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
    Json(body, _room): Json<GivenBody>,
) -> Result<(StatusCode, Answer<Answered>), Problem> {
    caller.need(Scope::Enqueue)?;
    let scheduler = app.client().scheduler()?;
    if caller.is_bound()
        && let Some(old) = scheduler.get(&name).await?
    {
        target(&caller, &old.definition)?;
    }
    let paused = body.paused;
    let definition = body.build(&name)?;
    target(&caller, &definition)?;
    let is_new = scheduler.put(&definition).await?;
    match paused {
        Some(true) => scheduler.pause(&name).await?,
        Some(false) => scheduler.resume(&name).await?,
        None => {}
    }
    let schedule = scheduler.get(&name).await?.ok_or_else(|| Problem::not_found("schedule"))?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Answer(Answered::of(ScheduleEntry { name, schedule: Ok(schedule) }))))
}

/// Removes a schedule; jobs that it has enqueued stay.
#[utoipa::path(
    delete, path = "/v1/schedules/{name}", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "There is none.", body = ProblemBody,
            content_type = "application/problem+json"),
    )
)]
pub(super) async fn delete_schedule(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
) -> Result<StatusCode, Problem> {
    caller.need(Scope::Enqueue)?;
    let scheduler = app.client().scheduler()?;
    // One that cannot be read can be removed by who may remove all.
    if caller.is_bound() {
        found(&app, &caller, Scope::Enqueue, &name).await?;
    }
    let removed = scheduler.delete(&name).await?;
    if removed { Ok(StatusCode::NO_CONTENT) } else { Err(Problem::not_found("schedule")) }
}

/// Enqueues its job at once.
#[utoipa::path(
    post, path = "/v1/schedules/{name}/run", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 201, description = "The job.", body = RunBody),
        (status = 404, description = "There is none.", body = ProblemBody,
            content_type = "application/problem+json"),
        (status = 429, description = "The queue is full.", body = ProblemBody,
            content_type = "application/problem+json"),
    )
)]
pub(super) async fn run_schedule(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<ScheduleName>,
) -> Result<(StatusCode, Answer<RunBody>), Problem> {
    let (scheduler, _) = found(&app, &caller, Scope::Enqueue, &name).await?;
    let id = scheduler.run_now(&name).await?;
    Ok((StatusCode::CREATED, Answer(RunBody { id })))
}

/// Its next nominal times.
#[utoipa::path(
    get, path = "/v1/schedules/{name}/next", tag = "schedules", security(("key" = [])),
    params(("name" = String, Path), CountQuery),
    responses(
        (status = 200, description = "The earliest first.", body = NextBody),
        (status = 404, description = "There is none.", body = ProblemBody,
            content_type = "application/problem+json"),
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

async fn found<'a>(
    app: &'a App,
    caller: &Caller,
    scope: Scope,
    name: &ScheduleName,
) -> Result<(Scheduler<'a>, Schedule), Problem> {
    caller.need(scope)?;
    let scheduler = app.client().scheduler()?;
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

impl GivenBody {
    fn build(self, name: &ScheduleName) -> Result<Definition, Problem> {
        let job = self.job.draft()?;
        let mut draft = match (self.cron, self.every_ms) {
            (Some(cron), None) => ScheduleDraft::cron(name, cron, job),
            (None, Some(every_ms)) => {
                ScheduleDraft::every(name, Duration::from_millis(every_ms), job)
            }
            _ => return Err(Problem::invalid("cron", "give cron or every_ms, one of both")),
        };
        if let Some(zone) = self.zone {
            draft = draft.zone(zone);
        }
        draft = draft.catch_up(self.catch_up).overlap(self.overlap);
        draft = draft.jitter(Duration::from_millis(self.jitter_ms));
        if let Some(Time(start)) = self.start {
            draft = draft.start(start);
        }
        if let Some(Time(end)) = self.end {
            draft = draft.end(end);
        }
        Ok(draft.build()?)
    }
}

impl Answered {
    fn of(entry: ScheduleEntry) -> Self {
        let name = entry.name.to_string();
        match entry.schedule {
            Ok(schedule) => Self { name, error: None, says: Some(SaysBody::of(&schedule)) },
            Err(error) => Self { name, error: Some(error.to_string()), says: None },
        }
    }
}

impl SaysBody {
    fn of(schedule: &Schedule) -> Self {
        let definition = &schedule.definition;
        let (cron, zone, every_ms, description) = match definition.timing() {
            Timing::Cron(cron) => {
                let (expression, zone) = (cron.expression().to_owned(), cron.zone().to_owned());
                (Some(expression), Some(zone), None, cron.describe())
            }
            every @ Timing::Every(interval) => {
                (None, None, Some(millis(interval.duration())), every.to_string())
            }
        };
        let (job, term) = (definition.job(), definition.term());
        let payload = Shown::of(job.payload());
        Self {
            cron,
            zone,
            every_ms,
            description,
            job: TemplateBody {
                queue: job.queue().to_string(),
                r#type: job.kind().to_string(),
                payload: payload.json.map(ToOwned::to_owned),
                payload_base64: payload.base64,
            },
            catch_up: definition.catch_up(),
            overlap: definition.overlap(),
            jitter_ms: millis(definition.jitter()),
            start: term.start.map(Time),
            end: term.end.map(Time),
            paused: schedule.paused,
            next_at: schedule.next_at.map(Time),
            last: schedule.last.map(|last| LastBody { nominal: Time(last.nominal), job: last.job }),
            enqueued: schedule.enqueued,
            revision: schedule.revision,
        }
    }
}
