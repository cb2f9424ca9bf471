//! `POST /createJob`.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use queuekit::{JobId, State as JobState};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::enqueue::{StoredJob, found, idempotency_key, prepared, stored};
use crate::api::app::App;
use crate::api::trace_context;
use crate::web::{Caller, EnqueueScope, Json, Problem};
use crate::wire::NewJobBody;

/// One less than the most attempts.
const MAX_RETRIES: u32 = queuekit::store::limits::MAX_ATTEMPTS - 1;

/// A job to store, in the short form.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CreateJob)]
pub(crate) struct CreateJobBody {
    /// Which handler runs it.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$", example = "email")]
    #[serde(alias = "type")]
    kind: String,
    /// Any JSON; stored byte for byte.
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<Box<RawValue>>,
    /// The job may run once more than this.
    #[schema(maximum = 999)]
    max_retries: Option<u32>,
    #[schema(min_length = 1, max_length = 256)]
    idempotency_key: Option<String>,
}

/// The stored job.
#[derive(Serialize, ToSchema)]
#[schema(as = JobCreated)]
pub(crate) struct CreatedBody {
    job_id: JobId,
    /// `pending`; for a duplicate its present state, if it is still stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<JobState>,
}

/// Enqueues a job, in the short form.
#[utoipa::path(
    post, path = "/createJob", tag = "jobs", security(("key" = [])),
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 256)),
    request_body(content = CreateJobBody, content_type = "application/json"),
    responses(
        (status = 201, description = "The job was stored.", body = CreatedBody),
        (status = 200, description = "The job was stored before.", body = CreatedBody),
        (status = 409, description = "The queue does not exist, and the key or the store has as \
            many queues as it may."),
        (status = 429, description = "The queue is full.",
            headers(("Retry-After" = u64, description = "Seconds"))),
    )
)]
pub(crate) async fn create_job(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Json(body, budget, _): Json<EnqueueScope, CreateJobBody>,
) -> Result<(StatusCode, Answer<CreatedBody>), Problem> {
    if body.max_retries.is_some_and(|retries| retries > MAX_RETRIES) {
        let detail = format!("max_retries must be at most {MAX_RETRIES}");
        return Err(Problem::invalid("max_retries", detail));
    }
    let mut job = NewJobBody {
        kind: body.kind,
        payload: body.payload,
        max_attempts: body.max_retries.map(|retries| retries + 1),
        idempotency_key: body.idempotency_key,
        ..NewJobBody::default()
    };
    job.adopt_key(idempotency_key(&headers)?)?;
    let mut job = prepared(&caller, job)?;
    let sending = trace_context::send_jobs(&app, &headers, std::slice::from_mut(&mut job));
    let stored = sending.run(stored(&app, &caller, job, budget)).await?;
    let StoredJob { id: job_id, is_new, mut budget } = stored;
    if is_new {
        let status = Some(JobState::Pending);
        return Ok((StatusCode::CREATED, Answer(CreatedBody { job_id, status })));
    }
    let status = found(&app, &caller, job_id, &mut budget).await.map(|job| job.state);
    Ok((StatusCode::OK, Answer(CreatedBody { job_id, status })))
}
