//! Reading jobs.

use axum::Json as Answer;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use queuekit::capability::Why;
use queuekit::{Cursor, Job, JobFilter, Page, PageSize};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::app::App;
use crate::api::params::{Id, JobQuery, Params};
use crate::api::wire::JobBody;
use crate::http::{Caller, Problem, ProblemBody, Scope, held};

/// Jobs that are read first, to see how large they are.
const FIRST_PART: usize = 16;
/// A page is not made much larger than this.
const ANSWER_BYTES: usize = 8 * 1024 * 1024;

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
        (status = 404, description = "It is not stored.", body = ProblemBody,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn get_job(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    let job = app.job(&caller, id).await?;
    Ok(Answer(JobBody::of(&job)).into_response())
}

/// Why a job is not running.
#[utoipa::path(
    get, path = "/v1/jobs/{id}/why", tag = "jobs", security(("key" = [])),
    params(("id" = String, Path, format = Uuid)),
    responses(
        (status = 200, description = "The reason.", body = WhyBody),
        (status = 404, description = "It is not stored.", body = ProblemBody,
            content_type = "application/problem+json"),
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
    let page = parts(app, filter).await?;
    let jobs = page.items.iter().filter(|job| caller.sees(job)).map(JobBody::of).collect();
    let cursor = page.next.as_ref().map(Cursor::to_string);
    let json = serde_json::to_vec(&PageBody { jobs, cursor }).unwrap_or_default();
    held::answer(app.as_ref(), json)
}

/// A page that is read in parts, because payloads may have a mebibyte each: it ends when it is long
/// enough or large enough.
async fn parts(app: &App, mut filter: JobFilter) -> Result<Page<Job>, Problem> {
    let wanted = filter.limit.get();
    let mut part = wanted.min(FIRST_PART);
    let (mut items, mut bytes) = (Vec::new(), 0);
    loop {
        filter.limit = PageSize::new(part)?;
        let page = app.store().list_jobs(&filter).await?;
        let is_short = page.items.len() < part;
        bytes += page.items.iter().map(size).sum::<usize>();
        items.extend(page.items);
        let left = wanted - items.len();
        if page.next.is_none() || is_short || left == 0 || bytes >= ANSWER_BYTES {
            return Ok(Page { items, next: page.next });
        }
        let mean = bytes / items.len().max(1) + 1;
        part = left.min((ANSWER_BYTES - bytes) / mean).max(1);
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
