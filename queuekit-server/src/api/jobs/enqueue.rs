//! `POST /v1/jobs`.

use std::borrow::Cow;
use std::slice;
use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use queuekit::{EnqueueOutcome, Job, JobId, NewJob, Status};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::api::app::App;
use crate::api::quota_charge::{QuotaCharge, with_quota};
use crate::api::store_call::in_store;
use crate::api::trace_context;
use crate::web::json::Raw;
use crate::web::memory_budget::RequestBudget;
use crate::web::store_calls::{self, CallSort};
use crate::web::{Caller, EnqueueScope, Problem, Scope, parsed_bytes, response_budget};
use crate::wire::{EnqueueBody, EnqueueOutcomesBody, NewJobBody, one_of_schema, stored_job};

/// The outcome for one job.
#[derive(Serialize, ToSchema)]
#[schema(as = Enqueued)]
pub(crate) struct EnqueuedBody<'a> {
    id: JobId,
    /// `created` or `duplicate`.
    outcome: &'static str,
    /// Status of a duplicate that is still stored, if the key is for its queue and kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    /// The job that was stored; for a duplicate the job that exists, if the key may read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Job>)]
    job: Option<Cow<'a, Job>>,
}

/// The answer for one job, or for several.
pub(crate) enum AnswerBody {}

one_of_schema! {
    AnswerBody, "EnqueueAnswer" =
        EnqueuedBody<'static>, "Enqueued" | EnqueueOutcomesBody, "EnqueuedMany"
}

/// Enqueues a job, or several in one atomic step.
///
/// When this answers 201, the jobs are stored as durably as the store promises.
#[utoipa::path(
    post, path = "/v1/jobs", tag = "jobs", security(("key" = [])),
    params(
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 256,
            description = "The queue accepts one job with this key; refused for several jobs"),
        ("traceparent" = Option<String>, Header, description = "W3C trace context"),
    ),
    request_body(content = EnqueueBody, content_type = "application/json"),
    responses(
        (status = 201, description = "The job was stored; of several jobs, at least one.",
            body = AnswerBody),
        (status = 200, description = "The job was stored before.", body = AnswerBody),
        (status = 409, description = "Another job has the id; or the queue does not exist, and the \
            key or the store has as many queues as it may."),
        (status = 429, description = "The queue is full; nothing was stored.",
            headers(("Retry-After" = u64, description = "Seconds"))),
    )
)]
pub(crate) async fn enqueue(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Raw<EnqueueScope>,
) -> Result<Response, Problem> {
    let key = idempotency_key(&headers)?;
    let (body, mut budget) = body.parse(EnqueueBody::read).await?;
    match body {
        EnqueueBody::One(mut job) => {
            job.adopt_key(key)?;
            let mut job = prepared(&caller, *job)?;
            budget.set_parsed(parsed(&job))?;
            let sending = trace_context::send_jobs(&app, &headers, slice::from_mut(&mut job));
            sending.run(one(&app, &caller, job, budget)).await
        }
        EnqueueBody::Many(_) if key.is_some() => {
            let detail = "the header Idempotency-Key is for one job; give each job its own \
                          idempotency_key";
            Err(Problem::invalid("Idempotency-Key", detail))
        }
        EnqueueBody::Many(jobs) => {
            caller.spend_batch(jobs.len())?;
            let prepare =
                |(item, job)| prepared(&caller, job).map_err(|problem| problem.at_item(item));
            let jobs: Result<Vec<_>, _> = jobs.into_iter().enumerate().map(prepare).collect();
            let mut jobs = jobs?;
            budget.set_parsed(jobs.iter().map(parsed).sum())?;
            let sending = trace_context::send_jobs(&app, &headers, &mut jobs);
            sending.run(many(&app, &caller, jobs, budget)).await
        }
    }
}

/// A job that was stored now or before.
pub(super) struct StoredJob {
    pub(super) id: JobId,
    pub(super) is_new: bool,
    /// The memory of its request.
    pub(super) budget: RequestBudget,
}

/// Stores one job.
pub(super) async fn stored(
    app: &App,
    caller: &Caller,
    job: NewJob,
    budget: RequestBudget,
) -> Result<StoredJob, Problem> {
    let new_queue = QuotaCharge::admit(app, caller, std::iter::once(job.queue())).await?;
    let (client, items) = (app.client().clone(), store_calls::items_alone(size(&job)));
    let storing = async move { Ok((client.enqueue(job).outcome().await?, budget)) };
    let (outcome, budget) = match items {
        Some(items) => {
            let (call, none) = ((CallSort::Enqueue, items), app.no_budget(caller));
            let storing = with_quota(new_queue, storing);
            Box::pin(in_store(app, caller, call, none, storing)).await?
        }
        None => with_quota(new_queue, storing).await?,
    };
    match outcome {
        EnqueueOutcome::Created { id } => Ok(StoredJob { id, is_new: true, budget }),
        EnqueueOutcome::Duplicate { existing } => {
            Ok(StoredJob { id: existing, is_new: false, budget })
        }
        EnqueueOutcome::Conflict { existing } => {
            let detail = format!("a job with another kind or payload has the id {existing}");
            Err(Problem::conflict(detail))
        }
        EnqueueOutcome::QueueFull { retry_after } => Err(Problem::queue_full(retry_after)),
    }
}

fn size(job: &NewJob) -> usize {
    job.payload().len() + job.metadata().bytes()
}

/// The memory that it takes.
fn parsed(job: &NewJob) -> usize {
    parsed_bytes::of_item(job.payload(), job.metadata())
}

/// The job that a duplicate refers to, if there is memory for it. It may be removed already, or
/// have a kind that the caller is not for: an idempotency key is of the queue.
pub(super) async fn found(
    app: &App,
    caller: &Caller,
    id: JobId,
    budget: &mut RequestBudget,
) -> Option<Job> {
    // Nobody waits for what the answer can do without.
    budget.take_for_answer(app.bytes_of_job()).await.ok()?;
    app.job(caller, id).await.ok()
}

/// The idempotency key in the header, if there is one.
pub(in crate::api) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = std::str::from_utf8(value.as_bytes()).map_err(|_| {
        Problem::invalid("Idempotency-Key", "the header Idempotency-Key is not UTF-8")
    })?;
    Ok(Some(key.to_owned()))
}

/// The checked job, if the caller may store it.
pub(super) fn prepared(caller: &Caller, body: NewJobBody) -> Result<NewJob, Problem> {
    let job = body.build()?;
    caller.need_queue(job.queue().as_str())?;
    caller.need_kind(job.kind().as_str())?;
    Ok(job)
}

async fn one(
    app: &App,
    caller: &Caller,
    job: NewJob,
    budget: RequestBudget,
) -> Result<Response, Problem> {
    let StoredJob { id, is_new, mut budget } = stored(app, caller, job.clone(), budget).await?;
    if is_new {
        let job = Some(Cow::Owned(stored_job(&job, app.now())));
        let body = EnqueuedBody { id, outcome: "created", status: None, job };
        let mut response = answer(body, budget).await;
        *response.status_mut() = StatusCode::CREATED;
        return Ok(response);
    }
    let found = found(app, caller, id, &mut budget).await;
    let readable = found.as_ref().filter(|_| caller.has(Scope::Read));
    let body = EnqueuedBody {
        id,
        outcome: "duplicate",
        status: found.as_ref().map(|job| job.status),
        job: readable.map(Cow::Borrowed),
    };
    Ok(answer(body, budget).await)
}

/// Answers the outcome, and leaves out the job if there is no memory for it: the job is stored.
async fn answer(mut body: EnqueuedBody<'_>, budget: RequestBudget) -> Response {
    match response_budget::answer(budget, &body).await {
        Ok(response) => response,
        Err(_) => {
            body.job = None;
            Answer(body).into_response()
        }
    }
}

async fn many(
    app: &App,
    caller: &Caller,
    jobs: Vec<NewJob>,
    budget: RequestBudget,
) -> Result<Response, Problem> {
    let new_queues = QuotaCharge::admit(app, caller, jobs.iter().map(NewJob::queue)).await?;
    let items = store_calls::items(jobs.iter().map(size));
    let items = store_calls::of_queues(items, jobs.iter().map(NewJob::queue));
    let (client, call) = (app.client().clone(), (CallSort::Enqueue, items));
    let storing = async move { Ok(client.enqueue_all(jobs).await?) };
    let storing = with_quota(new_queues, storing);
    let outcomes = in_store(app, caller, call, budget, storing).await?;
    let created = outcomes.iter().any(|outcome| outcome.is_created());
    let wait = outcomes.iter().filter_map(|outcome| match outcome {
        EnqueueOutcome::QueueFull { retry_after } => Some(*retry_after),
        _ => None,
    });
    let wait: Option<Duration> = wait.max();
    let body = EnqueueOutcomesBody { outcomes: outcomes.into_iter().collect() };
    match wait.filter(|_| !created) {
        None if created => Ok((StatusCode::CREATED, Answer(body)).into_response()),
        None => Ok(Answer(body).into_response()),
        Some(wait) => {
            let outcomes = serde_json::to_string(&body.outcomes).ok();
            let outcomes = outcomes.and_then(|text| RawValue::from_string(text).ok());
            Err(Problem::queue_full(wait).with_outcomes(outcomes))
        }
    }
}

impl NewJobBody {
    /// Sets the key of the header; one in the body must be the same.
    pub(super) fn adopt_key(&mut self, key: Option<String>) -> Result<(), Problem> {
        let Some(key) = key else { return Ok(()) };
        if self.idempotency_key.as_ref().is_some_and(|own| *own != key) {
            let detail = "the header Idempotency-Key and the field idempotency_key differ";
            return Err(Problem::invalid("idempotency_key", detail));
        }
        self.idempotency_key = Some(key);
        Ok(())
    }
}
