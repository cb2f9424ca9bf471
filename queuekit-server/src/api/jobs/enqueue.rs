//! `POST /v1/jobs`.

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
use crate::api::creating::{Creating, creating};
use crate::api::trace;
use crate::api::wire::{EnqueueBody, JobBody, NewJobBody, millis, one_of};
use crate::http::json::{self, Raw};
use crate::http::room::Room;
use crate::http::{Caller, Problem, Scope, ToEnqueue, held};

/// What became of one job.
#[derive(Serialize, ToSchema)]
#[schema(as = Enqueued)]
pub(crate) struct EnqueuedBody<'a> {
    #[schema(value_type = String, format = Uuid)]
    id: JobId,
    /// created or duplicate.
    outcome: &'static str,
    /// Of a duplicate, if it is still stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    status: Option<Status>,
    /// What was stored, or the job there is, if the key may read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<JobBody<'a>>,
}

/// The answer for one, or for several.
pub(crate) enum AnswerBody {}

one_of! {
    AnswerBody, "EnqueueAnswer" = EnqueuedBody<'static>, "Enqueued" | OutcomesBody, "EnqueuedMany"
}

/// What became of several.
#[derive(Serialize, ToSchema)]
#[schema(as = EnqueuedMany)]
pub(crate) struct OutcomesBody {
    outcomes: Vec<OutcomeBody>,
}

/// What became of one of them.
#[derive(Serialize, ToSchema)]
#[schema(as = EnqueueOutcome)]
pub(crate) struct OutcomeBody {
    /// created, duplicate, conflict or queue_full.
    outcome: &'static str,
    /// Of the job, or of the one that has its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Uuid)]
    id: Option<JobId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

/// Stores a job, or several in one atomic step.
///
/// It is durably stored when this answers, as far as the store promises.
#[utoipa::path(
    post, path = "/v1/jobs", tag = "jobs", security(("key" = [])),
    params(
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 256,
            description = "Only one job of a queue has it; for one job"),
        ("traceparent" = Option<String>, Header, description = "W3C trace context"),
    ),
    request_body(content = EnqueueBody, content_type = "application/json"),
    responses(
        (status = 201, description = "Stored; of several, at least one.", body = AnswerBody),
        (status = 200, description = "It was there before.", body = AnswerBody),
        (status = 409, description = "Its id is taken by another job; or the queue is new, and the \
            key or the store has as many as it may."),
        (status = 429, description = "The queue is full; nothing was stored.",
            headers(("Retry-After" = u64, description = "Seconds"))),
    )
)]
pub(crate) async fn enqueue(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Raw(body, room, _): Raw<ToEnqueue>,
) -> Result<Response, Problem> {
    let key = idempotency_key(&headers)?;
    match json::off_the_runtime(&body, || EnqueueBody::read(&body))? {
        EnqueueBody::One(mut job) => {
            job.adopt_key(key)?;
            let job = prepared(&caller, &headers, *job)?;
            one(&app, &caller, job, room).await
        }
        EnqueueBody::Many(_) if key.is_some() => {
            let detail = "the header Idempotency-Key is for one job; give each its own";
            Err(Problem::invalid("Idempotency-Key", detail))
        }
        EnqueueBody::Many(jobs) => {
            caller.spend_batch(jobs.len())?;
            let prepare = |(item, job)| {
                prepared(&caller, &headers, job).map_err(|problem| problem.at_item(item))
            };
            let jobs: Result<Vec<_>, _> = jobs.into_iter().enumerate().map(prepare).collect();
            many(&app, &caller, jobs?).await
        }
    }
}

/// Stores one job, and says what became of it.
pub(super) async fn stored(
    app: &App,
    caller: &Caller,
    job: NewJob,
) -> Result<(JobId, bool), Problem> {
    let new_queue = Creating::admit(app, caller, std::iter::once(job.queue())).await?;
    let client = app.client().clone();
    let storing = async move { Ok(client.enqueue(job).outcome().await?) };
    match creating(new_queue, storing).await? {
        EnqueueOutcome::Created { id } => Ok((id, true)),
        EnqueueOutcome::Duplicate { existing } => Ok((existing, false)),
        EnqueueOutcome::Conflict { existing } => {
            let detail = format!("id {existing} is taken by a job of another type or payload");
            Err(Problem::conflict(detail))
        }
        EnqueueOutcome::QueueFull { retry_after } => Err(Problem::queue_full(retry_after)),
    }
}

/// The job that was there before; it may be gone already, and was there all the same.
pub(super) async fn found(app: &App, id: JobId) -> Option<Job> {
    app.client().jobs().get(id).await.ok().flatten()
}

/// The key in the header, if there is one.
pub(in crate::api) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = std::str::from_utf8(value.as_bytes()).map_err(|_| {
        Problem::invalid("Idempotency-Key", "the header Idempotency-Key is not UTF-8")
    })?;
    Ok(Some(key.to_owned()))
}

/// The job, checked, if the caller may store it.
pub(super) fn prepared(
    caller: &Caller,
    headers: &HeaderMap,
    mut body: NewJobBody,
) -> Result<NewJob, Problem> {
    body.metadata = trace::adopt(headers, body.metadata);
    let job = body.build()?;
    caller.need_queue(job.queue().as_str())?;
    caller.need_type(job.kind().as_str())?;
    Ok(job)
}

async fn one(app: &App, caller: &Caller, job: NewJob, room: Room) -> Result<Response, Problem> {
    let (id, created) = stored(app, caller, job.clone()).await?;
    if created {
        let job = Some(JobBody::of_new(&job, app.now()));
        let body = EnqueuedBody { id, outcome: "created", status: None, job };
        let mut response = answer(body, room).await;
        *response.status_mut() = StatusCode::CREATED;
        return Ok(response);
    }
    let found = found(app, id).await;
    let readable = found.as_ref().filter(|job| caller.has(Scope::Read) && caller.sees(job));
    let body = EnqueuedBody {
        id,
        outcome: "duplicate",
        status: found.as_ref().map(|job| job.status),
        job: readable.map(JobBody::of),
    };
    Ok(answer(body, room).await)
}

/// What is stored is told, and if there is no room for all of it, without the job.
async fn answer(mut body: EnqueuedBody<'_>, room: Room) -> Response {
    let json = serde_json::to_vec(&body).unwrap_or_default();
    match held::answer(room, json).await {
        Ok(response) => response,
        Err(_) => {
            body.job = None;
            Answer(body).into_response()
        }
    }
}

async fn many(app: &App, caller: &Caller, jobs: Vec<NewJob>) -> Result<Response, Problem> {
    let new_queues = Creating::admit(app, caller, jobs.iter().map(NewJob::queue)).await?;
    let client = app.client().clone();
    let storing = async move { Ok(client.enqueue_all(jobs).await?) };
    let outcomes = creating(new_queues, storing).await?;
    let created = outcomes.iter().any(|outcome| outcome.is_created());
    let wait = outcomes.iter().filter_map(|outcome| match outcome {
        EnqueueOutcome::QueueFull { retry_after } => Some(*retry_after),
        _ => None,
    });
    let wait: Option<Duration> = wait.max();
    let body = OutcomesBody { outcomes: outcomes.into_iter().map(OutcomeBody::of).collect() };
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

impl OutcomeBody {
    fn of(outcome: EnqueueOutcome) -> Self {
        let named = |outcome, id| Self { outcome, id: Some(id), retry_after_ms: None };
        match outcome {
            EnqueueOutcome::Created { id } => named("created", id),
            EnqueueOutcome::Duplicate { existing } => named("duplicate", existing),
            EnqueueOutcome::Conflict { existing } => named("conflict", existing),
            EnqueueOutcome::QueueFull { retry_after } => {
                let retry_after_ms = Some(millis(retry_after));
                Self { outcome: "queue_full", id: None, retry_after_ms }
            }
        }
    }
}

impl NewJobBody {
    /// The key of the header; one in the body must be the same.
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
