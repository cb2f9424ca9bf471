//! Reading jobs.

use axum::Json as Answer;
use axum::extract::State;
use axum::response::Response;
use queuekit::capability::Why;
use queuekit::{Cursor, Job, JobFilter, Page, PageSize};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::app::App;
use crate::api::params::{Id, JobQuery, Params};
use crate::api::portion::Portion;
use crate::api::wire::JobBody;
use crate::http::{Caller, Problem, Scope, held};

/// One page of jobs.
#[derive(Serialize, ToSchema)]
#[schema(as = Jobs)]
pub(crate) struct PageBody<'a> {
    jobs: Vec<JobBody<'a>>,
    /// Where the next page begins; without it this was the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// Why a job is not running.
#[derive(Serialize, ToSchema)]
#[schema(as = Why)]
pub(crate) struct WhyBody {
    /// paused, blocked, scheduled, waiting_for_retry, no_live_worker, ready, running, expired or
    /// ended.
    reason: &'static str,
    /// The same in words.
    sentence: String,
}

/// Jobs, a page at a time.
///
/// Queue by queue, and in each running, ready, failed, scheduled, blocked, dead, cancelled,
/// completed. A page may be short or empty and still have a cursor.
#[utoipa::path(
    get, path = "/v1/jobs", tag = "jobs", security(("key" = [])), params(JobQuery),
    responses((status = 200, description = "A page.", body = PageBody))
)]
pub(crate) async fn list_jobs(
    State(app): State<App>,
    caller: Caller,
    Params(query): Params<JobQuery>,
) -> Result<Response, Problem> {
    page(&app, &caller, query.filter()?).await
}

/// A job.
#[utoipa::path(
    get, path = "/v1/jobs/{id}", tag = "jobs", security(("key" = [])),
    params(("id" = String, Path, format = Uuid)),
    responses(
        (status = 200, description = "The job.", body = JobBody),
        (status = 404, description = "It is not stored."),
    )
)]
pub(crate) async fn get_job(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    let room = app.room(&caller).await?;
    let job = app.job(&caller, id).await?;
    held::answer(room, serde_json::to_vec(&JobBody::of(&job)).unwrap_or_default()).await
}

/// Why a job is not running.
#[utoipa::path(
    get, path = "/v1/jobs/{id}/why", tag = "jobs", security(("key" = [])),
    params(("id" = String, Path, format = Uuid)),
    responses(
        (status = 200, description = "The reason.", body = WhyBody),
        (status = 404, description = "It is not stored."),
    )
)]
pub(crate) async fn why(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
) -> Result<Answer<WhyBody>, Problem> {
    caller.need(Scope::Read)?;
    app.need_job(&caller, id).await?;
    let why = app.admin()?.why(id).await?.ok_or_else(|| Problem::not_found("job"))?;
    Ok(Answer(WhyBody { reason: reason(&why), sentence: why.to_string() }))
}

/// What the caller may see of a page: it may come out short, as every page may.
pub(in crate::api) async fn page(
    app: &App,
    caller: &Caller,
    filter: JobFilter,
) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    caller.need_named(filter.queue.as_ref(), filter.kind.as_ref())?;
    let room = app.room(caller).await?;
    let page = parts(app, filter).await?;
    let jobs = page.items.iter().filter(|job| caller.sees(job)).map(JobBody::of).collect();
    let cursor = page.next.as_ref().map(Cursor::to_string);
    let json = serde_json::to_vec(&PageBody { jobs, cursor }).unwrap_or_default();
    held::answer(room, json).await
}

/// A page, which ends when it is long enough or large enough.
async fn parts(app: &App, mut filter: JobFilter) -> Result<Page<Job>, Problem> {
    let (mut portion, mut items) = (Portion::new(filter.limit.get()), Vec::new());
    loop {
        let part = portion.part();
        filter.limit = PageSize::new(part)?;
        let page = app.store().list_jobs(&filter).await?;
        let is_short = page.items.len() < part;
        let is_enough = portion.took(page.items.iter().map(size));
        items.extend(page.items);
        if page.next.is_none() || is_short || is_enough {
            return Ok(Page { items, next: page.next });
        }
        filter.cursor = page.next;
    }
}

fn size(job: &Job) -> usize {
    let errors: usize = job.errors.iter().map(|failure| failure.error.as_str().len()).sum();
    job.payload.len() + job.result.as_ref().map_or(0, |result| result.len()) + errors
}

fn reason(why: &Why) -> &'static str {
    match why {
        Why::Paused { .. } => "paused",
        Why::Blocked { .. } => "blocked",
        Why::Scheduled { .. } => "scheduled",
        Why::WaitingForRetry { .. } => "waiting_for_retry",
        Why::NoLiveWorker { .. } => "no_live_worker",
        Why::Ready { .. } => "ready",
        Why::Running { .. } => "running",
        Why::Expired { .. } => "expired",
        Why::Ended { .. } => "ended",
        _ => "other",
    }
}
