//! `GET /v1/scale`: how many workers queues need.

use std::collections::HashSet;

use axum::Json as Answer;
use axum::extract::State;
use queuekit::QueueName;
use queuekit::queues::{Queue, Scale};
use serde::Deserialize;
use utoipa::IntoParams;

use super::app::App;
use super::params::Params;
use crate::web::lookups::read_line;
use crate::web::off_the_runtime::slow_off_the_runtime;
use crate::web::{Caller, Problem, Scope};
use crate::wire::BATCH;

/// Which queues to scale for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ScaleQuery {
    /// At most 1000 queues, joined by commas; without it all that the key may see.
    #[param(pattern = "^[A-Za-z0-9_.:,-]+$", example = "critical,default")]
    queues: Option<String>,
    /// Jobs that one worker runs at once. Without it, as many as the live ones on average, or 10.
    #[param(minimum = 1, maximum = 1000000)]
    slots_per_worker: Option<u32>,
}

/// Says how many workers queues need, for autoscalers.
///
/// Jobs that run count as those that wait, so that workers come before a backlog has formed. The
/// figures are a second or two old.
#[utoipa::path(
    get, path = "/v1/scale", tag = "watching", security(("key" = [])), params(ScaleQuery),
    responses((status = 200, description = "What the queues need and have.", body = Scale))
)]
pub(super) async fn scale(
    State(app): State<App>,
    caller: Caller,
    Params(query): Params<ScaleQuery>,
) -> Result<Answer<Scale>, Problem> {
    caller.need(Scope::Read)?;
    if !query.slots_per_worker.is_none_or(|slots| (1..=1_000_000).contains(&slots)) {
        let detail = "slots_per_worker must be 1 to 1000000";
        return Err(Problem::invalid("slots_per_worker", detail));
    }
    let names = query.queues.as_deref().map(named).transpose()?;
    for name in names.iter().flatten() {
        caller.need_queue(name.as_str())?;
    }
    // A queue that does not exist yet needs nothing.
    let is_meant = |queue: &&Queue| match &names {
        Some(names) => names.contains(&queue.name),
        None => caller.sees_queue(queue.name.as_str()),
    };
    // Workers may name many queues. No turn of all is held, because the work waits for a place that
    // other work of the key may have.
    let _line = read_line(&caller).await?;
    // Only now: a request that waits would have the figures of its second kept.
    let figures = app.figures().await?;
    let scale = || {
        let queues = figures.queues.iter().filter(is_meant);
        Scale::of(queues, &figures.workers, query.slots_per_worker)
    };
    Ok(Answer(slow_off_the_runtime(&caller, scale).await))
}

fn named(text: &str) -> Result<HashSet<QueueName>, Problem> {
    if text.split(',').nth(BATCH).is_some() {
        return Err(Problem::invalid("queues", format!("queues must name at most {BATCH} queues")));
    }
    Ok(text.split(',').map(QueueName::new).collect::<Result<_, _>>()?)
}
