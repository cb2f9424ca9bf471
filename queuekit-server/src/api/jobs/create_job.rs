//! `POST /createJob`.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use queuekit::JobId;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::enqueue::{idempotency_key, prepared, stored};
use crate::api::app::App;
use crate::api::wire::NewJobBody;
use crate::http::{Caller, Json, Problem, ProblemBody, Scope};

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
    /// pending.
    status: &'static str,
}

/// Stores a job: the short form.
#[utoipa::path(
    post, path = "/createJob", tag = "jobs", security(("key" = [])),
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 256)),
    request_body(content = CreateJobBody, content_type = "application/json"),
    responses(
        (status = 201, description = "It is durably stored.", body = CreatedBody),
        (status = 200, description = "It was there before.", body = CreatedBody),
        (status = 429, description = "The queue is full.", body = ProblemBody,
            content_type = "application/problem+json",
            headers(("Retry-After" = u64, description = "Seconds"))),
    )
)]
pub(crate) async fn create_job(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Json(body, _room): Json<CreateJobBody>,
) -> Result<(StatusCode, Answer<CreatedBody>), Problem> {
    caller.need(Scope::Enqueue)?;
    let mut job = NewJobBody {
        id: None,
        r#type: body.r#type,
        payload: body.payload,
        payload_base64: None,
        queue: None,
        priority: None,
        max_attempts: body.max_retries.map(|retries| retries.saturating_add(1)),
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
    let (job_id, created) = stored(&app, &prepared(&caller, &headers, job)?).await?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Answer(CreatedBody { job_id, status: "pending" })))
}
