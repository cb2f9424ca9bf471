//! `GET /v1/queues`: a page of queues with their figures.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use queuekit::QueueName;
use queuekit::jobs::PageSize;
use queuekit::queues::Queue;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use utoipa::{IntoParams, ToSchema};

use crate::api::app::App;
use crate::api::params::Params;
use crate::web::lookups::{LookupLine, read_line};
use crate::web::{Caller, Problem, Scope, response_budget};
use crate::wire::BATCH;

/// How long the store may take for an answer.
const STORE_TIMEOUT: Duration = Duration::from_secs(10);
/// A page ends early if the store took this long for its queues.
const LONG: Duration = Duration::from_secs(5);

/// A page of queues.
#[derive(Serialize, ToSchema)]
#[schema(as = Queues)]
pub(crate) struct QueuesBody {
    queues: Vec<Queue>,
    /// Send it as `after` for the next page; missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<QueueName>,
}

/// The start of a page, and how many queues it has at most.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct QueuesQuery {
    /// `after` of the previous page: queues behind this name.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    after: Option<String>,
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
}

/// Lists queues by name with their figures, a page at a time.
#[utoipa::path(
    get, path = "/v1/queues", tag = "queues", security(("key" = [])), params(QueuesQuery),
    responses((status = 200, description = "A page.", body = QueuesBody))
)]
pub(crate) async fn list_queues(
    State(app): State<App>,
    caller: Caller,
    Params(query): Params<QueuesQuery>,
) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    let after = query.after.map(QueueName::new).transpose()?;
    let limit = query.limit.map(PageSize::new).transpose()?.unwrap_or_default();
    let line = read_line(&caller).await?;
    let budget = app.budget(&caller).await?;
    let body = page_of_queues(&app, &caller, &line, after, limit).await?;
    drop(line);
    response_budget::answer(budget, &body).await
}

/// A page of the queues that the caller may see. It ends only at such a queue, because `after`
/// names it. The store is not asked for queues that the caller's key cannot be for. With a pattern
/// such as `*.mail`, that may be any queue: each answer of the store after the first then counts
/// towards the key's `per_second`.
async fn page_of_queues(
    app: &App,
    caller: &Caller,
    line: &LookupLine,
    mut after: Option<QueueName>,
    limit: PageSize,
) -> Result<QueuesBody, Problem> {
    let (begun, mut queues) = (Instant::now(), Vec::<Queue>::new());
    let ends_at_last = |queues: Vec<Queue>| {
        let after = queues.last().map(|last| last.name.clone());
        Ok(QueuesBody { queues, after })
    };
    while let Some(from) = caller.next_seen(after) {
        // Whether a restricted key may see more, only further queues of the store show.
        let most = if caller.is_bound() { BATCH } else { limit.get() - queues.len() };
        // Look-ups of other keys come between two answers.
        let turn = line.turn().await?;
        let page = app.page_length().list(app.store(), from.as_ref(), most, STORE_TIMEOUT).await?;
        drop(turn);
        for queue in page.queues {
            if !caller.sees_queue(queue.name.as_str()) {
                continue;
            }
            if queues.len() == limit.get() {
                return ends_at_last(queues);
            }
            queues.push(queue);
        }
        after = page.after;
        if after.is_none() {
            break;
        }
        let is_full = queues.len() == limit.get() && !caller.is_bound();
        if is_full || (begun.elapsed() > LONG && !queues.is_empty()) {
            return ends_at_last(queues);
        }
        if caller.is_bound() {
            caller.owe(1);
        }
    }
    Ok(QueuesBody { queues, after: None })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    use queuekit::memory::MemoryStore;
    use queuekit::queues::QueuePatch;
    use queuekit::store::Backend;

    use super::*;
    use crate::api::test_app::app_counting;
    use crate::web::auth::tests::caller_for;

    #[tokio::test]
    async fn s6_a_key_for_few_of_many_queues_has_the_store_asked_few_times() {
        let inner: Arc<dyn Backend> = Arc::new(MemoryStore::new());
        let admin = inner.capabilities().admin.expect("memory has administration");
        for queue in 0..3000 {
            let name = QueueName::new(format!("q{queue:04}.{}", queue % 1000)).unwrap();
            admin.configure(&name, &QueuePatch::default()).await.unwrap();
        }
        let (app, pages) = app_counting("list_queues", &inner);
        let caller = caller_for("*.999", Scope::Read);
        let line = read_line(&caller).await.unwrap();
        let one = PageSize::new(1).unwrap();
        let mut found = Vec::new();
        loop {
            let after = found.last().cloned();
            let page = page_of_queues(&app, &caller, &line, after, one).await.unwrap();
            found.extend(page.queues.into_iter().map(|queue| queue.name));
            let asked = pages.swap(0, Ordering::Relaxed);
            assert!(asked <= 13, "{asked} times for one queue");
            if page.after.is_none() {
                break;
            }
        }
        assert!(caller.spend(1).is_err(), "each page after the first counts");
        assert_eq!(
            found.iter().map(QueueName::as_str).collect::<Vec<_>>(),
            ["q0999.999", "q1999.999", "q2999.999"]
        );
    }
}
