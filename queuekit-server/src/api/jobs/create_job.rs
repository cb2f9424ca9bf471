//! `POST /createJob`.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use queuekit::{JobId, State as JobState};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::enqueue::{found, idempotency_key, prepared, stored};
use crate::api::app::App;
use crate::api::wire::NewJobBody;
use crate::http::{Caller, Json, Problem, ToEnqueue};

/// One less than there may be attempts.
const MAX_RETRIES: u32 = queuekit::limits::MAX_ATTEMPTS - 1;

/// The short form.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CreateJob)]
pub(crate) struct CreateJobBody {
    /// Which handler runs it.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$", example = "email")]
    r#type: String,
    /// Any JSON; stored byte for byte.
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<Box<RawValue>>,
    /// It may run once more often than this.
    #[schema(maximum = 999)]
    max_retries: Option<u32>,
    #[schema(min_length = 1, max_length = 256)]
    idempotency_key: Option<String>,
}

/// It is stored.
#[derive(Serialize, ToSchema)]
#[schema(as = JobCreated)]
pub(crate) struct CreatedBody {
    #[schema(value_type = String, format = Uuid)]
    job_id: JobId,
    /// pending; of one that was there before its state now, if it is still stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    status: Option<JobState>,
}

/// Stores a job: the short form.
#[utoipa::path(
    post, path = "/createJob", tag = "jobs", security(("key" = [])),
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 256)),
    request_body(content = CreateJobBody, content_type = "application/json"),
    responses(
        (status = 201, description = "It is durably stored.", body = CreatedBody),
        (status = 200, description = "It was there before.", body = CreatedBody),
        (status = 409, description = "The queue is new, and the key or the store has as many as it \
            may."),
        (status = 429, description = "The queue is full.",
            headers(("Retry-After" = u64, description = "Seconds"))),
    )
)]
pub(crate) async fn create_job(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Json(body, ..): Json<ToEnqueue, CreateJobBody>,
) -> Result<(StatusCode, Answer<CreatedBody>), Problem> {
    if body.max_retries.is_some_and(|retries| retries > MAX_RETRIES) {
        let detail = format!("max_retries must be at most {MAX_RETRIES}");
        return Err(Problem::invalid("max_retries", detail));
    }
    let mut job = NewJobBody {
        id: None,
        r#type: body.r#type,
        payload: body.payload,
        payload_base64: None,
        queue: None,
        priority: None,
        max_attempts: body.max_retries.map(|retries| retries + 1),
        delay_ms: None,
        run_at: None,
        idempotency_key: body.idempotency_key,
        unique_until_done: false,
        partition_key: None,
        timeout_ms: None,
        deadline_ms: None,
        metadata: None,
    };
    job.adopt_key(idempotency_key(&headers)?)?;
    let job = prepared(&caller, &headers, job)?;
    let (job_id, created) = stored(&app, &caller, job).await?;
    if created {
        let status = Some(JobState::Pending);
        return Ok((StatusCode::CREATED, Answer(CreatedBody { job_id, status })));
    }
    let status = found(&app, job_id).await.map(|job| job.state);
    Ok((StatusCode::OK, Answer(CreatedBody { job_id, status })))
}
