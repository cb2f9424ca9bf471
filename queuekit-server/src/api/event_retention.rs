//! How long events stay in the log.

use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State;
use queuekit::event::EventRetention;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::app::App;
use super::audit::{audited, json};
use super::wire::millis;
use crate::http::{Caller, Json, Problem, Scope, ToAdmin};

/// An event goes when it is older than this, or when more than so many have come after it; none
/// that a delivery still needs.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = EventRetention)]
pub(super) struct RetentionBody {
    #[schema(minimum = 600000)]
    age_ms: u64,
    #[schema(minimum = 1)]
    events: u64,
}

/// How long events stay in the log.
#[utoipa::path(
    get, path = "/v1/events/retention", tag = "events", security(("key" = [])),
    responses((status = 200, description = "Both bounds.", body = RetentionBody))
)]
pub(super) async fn get_retention(
    State(app): State<App>,
    caller: Caller,
) -> Result<Answer<RetentionBody>, Problem> {
    caller.need(Scope::Read)?;
    caller.need_events()?;
    Ok(Answer(RetentionBody::of(app.client().events().retention().await?)))
}

/// Changes how long events stay in the log: upkeep removes what is beyond it then.
#[utoipa::path(
    put, path = "/v1/events/retention", tag = "events", security(("key" = [])),
    request_body(content = RetentionBody, content_type = "application/json"),
    responses((status = 200, description = "Both bounds.", body = RetentionBody))
)]
pub(super) async fn put_retention(
    State(app): State<App>,
    caller: Caller,
    Json(body, ..): Json<ToAdmin, RetentionBody>,
) -> Result<Answer<RetentionBody>, Problem> {
    caller.need(Scope::Admin)?;
    caller.need_events()?;
    if caller.is_bound_to_types() {
        return Err(Problem::forbidden("the key is bound to types, and the log is of all"));
    }
    let retention = EventRetention::new(Duration::from_millis(body.age_ms), body.events)?;
    let set = app.client().events().set_retention(retention).await.map_err(Problem::from);
    let target = format!("event retention {}", json(&RetentionBody::of(retention)));
    audited(&caller, "put", target, set)?;
    Ok(Answer(RetentionBody::of(retention)))
}

impl RetentionBody {
    fn of(retention: EventRetention) -> Self {
        Self { age_ms: millis(retention.age()), events: retention.events() }
    }
}
