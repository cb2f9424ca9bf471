//! Retention of events: how long they stay in the log.

use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State;
use queuekit::events::EventRetention;

use super::app::App;
use super::audit::{audited, json};
use crate::web::{AdminScope, Caller, Json, Problem, Scope};
use crate::wire::{RetentionBody, millis};

/// Gets the retention of events.
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

/// Sets the retention of events; upkeep then removes events beyond it.
#[utoipa::path(
    put, path = "/v1/events/retention", tag = "events", security(("key" = [])),
    request_body(content = RetentionBody, content_type = "application/json"),
    responses((status = 200, description = "Both bounds.", body = RetentionBody))
)]
pub(super) async fn put_retention(
    State(app): State<App>,
    caller: Caller,
    Json(body, ..): Json<AdminScope, RetentionBody>,
) -> Result<Answer<RetentionBody>, Problem> {
    caller.need(Scope::Admin)?;
    caller.need_events()?;
    if caller.is_bound_to_kinds() {
        let detail = "the key is restricted to kinds, and the log holds events of all types";
        return Err(Problem::forbidden(detail));
    }
    let retention = EventRetention::new(Duration::from_millis(body.age_ms), body.events)?;
    let target = format!("event retention {}", json(&RetentionBody::of(retention)));
    let here = app.clone();
    let setting =
        async move { here.client().events().set_retention(retention).await.map_err(Problem::from) };
    audited(&app, &caller, "put", target, setting).await?;
    Ok(Answer(RetentionBody::of(retention)))
}

impl RetentionBody {
    fn of(retention: EventRetention) -> Self {
        Self { age_ms: millis(retention.age()), events: retention.events() }
    }
}
