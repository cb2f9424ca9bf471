//! History: how things were an hour ago (contract R8.5).

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use queuekit::QueueName;
use queuekit::store::Timestamp;
use queuekit::store::history::{HistoryQuery, Resolution};
use serde::Deserialize;
use utoipa::IntoParams;

use super::app::App;
use super::params::Params;
use crate::web::{Caller, Problem, Scope, response_budget};
use crate::wire::{HistoryBody, RunsRowBody, Time, TotalsRowBody};

/// An answer has about this many totals, and as many runs: it ends with all rows of its last time.
const ROWS: usize = 2000;
/// How far back an answer begins if nothing else is asked for.
const BACK: Duration = Duration::from_secs(3600);

/// Which rows.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct HistoryParams {
    /// Only rows of this queue.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    queue: Option<String>,
    /// Only runs of this kind; totals have no kind.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    kind: Option<String>,
    /// Rows that begin at this time or later; an hour ago if left out.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<Time>,
    /// Rows that begin before this time; now if left out.
    #[param(value_type = Option<String>, format = DateTime)]
    to: Option<Time>,
    /// The time that a row covers: `1m`, `10m` or `1h`; if left out, the shortest that is still
    /// kept for `from`.
    #[param(pattern = "^(1m|10m|1h)$")]
    step: Option<String>,
}

/// Lists what the store remembers, by time. An answer ends with all rows of a time.
#[utoipa::path(
    get, path = "/v1/history", tag = "queues", security(("key" = [])), params(HistoryParams),
    responses((status = 200, description = "The rows.", body = HistoryBody))
)]
pub(super) async fn history(
    State(app): State<App>,
    caller: Caller,
    Params(params): Params<HistoryParams>,
) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    let query = query(&app, &caller, &params)?;
    let kind = params.kind.as_deref().map(queuekit::store::Kind::new).transpose()?;
    let budget = app.budget(&caller).await?;
    let (mut totals, mut runs, next) = rows(&app, &query).await?;
    totals.retain(|row| caller.sees_queue(row.queue.as_str()));
    runs.retain(|row| {
        let is_seen = row.kind.as_ref().is_none_or(|kind| caller.sees_kind(kind.as_str()));
        let is_asked = kind.is_none() || row.kind == kind;
        caller.sees_queue(row.queue.as_str()) && is_seen && is_asked
    });
    let body = HistoryBody {
        step: query.resolution.to_string(),
        totals: totals.iter().map(TotalsRowBody::of).collect(),
        runs: runs.iter().map(RunsRowBody::of).collect(),
        next: next.map(Time),
    };
    response_budget::answer(budget, &body).await
}

fn query(app: &App, caller: &Caller, params: &HistoryParams) -> Result<HistoryQuery, Problem> {
    let now = app.now();
    let from = params.from.map_or(now.minus(BACK), |from| from.0);
    let to = params.to.map_or(now, |to| to.0);
    let resolution = match &params.step {
        Some(step) => step.parse()?,
        None => Resolution::for_age(now.since(from)),
    };
    let query = HistoryQuery::new(resolution, from, to);
    Ok(match &params.queue {
        Some(queue) => {
            let queue = QueueName::new(queue)?;
            caller.need_queue(queue.as_str())?;
            query.queue(queue)
        }
        None => query,
    })
}

/// Reads the rows of whole times, in pages; answers where the next ones begin, too.
macro_rules! whole_times {
    ($history:ident.$list:ident, $query:expr) => {{
        let (mut query, mut rows, mut next) = ($query.clone(), Vec::new(), None);
        loop {
            let page = $history.$list(&query).await?;
            let is_full = page.len() == query.limit.get();
            rows.extend(page);
            let Some(last) = rows.last().filter(|_| is_full) else { break };
            if next.is_none() && rows.len() >= ROWS {
                query.to = query.to.min(last.at + query.resolution.length());
                next = Some(query.to);
            }
            query.after = Some(last.place());
        }
        (rows, next)
    }};
}

type Rows = (
    Vec<queuekit::store::history::TotalsRow>,
    Vec<queuekit::store::history::RunsRow>,
    Option<Timestamp>,
);

async fn rows(app: &App, query: &HistoryQuery) -> Result<Rows, Problem> {
    let history = app.store().capabilities().history;
    let history = history.ok_or_else(|| Problem::unsupported("history"))?;
    let (mut totals, after_totals) = whole_times!(history.list_totals, query);
    let (mut runs, after_runs) = whole_times!(history.list_runs, query);
    let next = after_totals.into_iter().chain(after_runs).min();
    // One of the two lists may reach further. What it has beyond the end would come again with the
    // next answer.
    if let Some(next) = next {
        totals.retain(|row| row.at < next);
        runs.retain(|row| row.at < next);
    }
    Ok((totals, runs, next))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Request;
    use http_body_util::BodyExt;
    use queuekit::memory::MemoryStore;
    use queuekit::store::history::{Runs, RunsAdded};
    use queuekit::store::{Backend, ManualClock};
    use queuekit::{Client, JobDraft};
    use tower::ServiceExt;

    use super::*;
    use crate::api::own_routes;

    /// Guard: the rows that follow begin with a time of which no row was answered.
    #[tokio::test(flavor = "multi_thread")]
    async fn r8_5_an_answer_ends_with_all_rows_of_a_time() {
        let clock = ManualClock::default();
        let store = MemoryStore::with_clock(clock.clone());
        let client = Client::new(store.clone());
        let history = store.capabilities().history.unwrap();
        for _ in 0..4 {
            let jobs = (0..900).map(|n| JobDraft::new("work", "1").queue(format!("q{n}")));
            client.enqueue_all(jobs).await.unwrap().ids().unwrap();
            assert!(history.record_totals().await.unwrap());
            let queue = QueueName::new("q7").unwrap();
            let runs = Runs { completed: 1, ..Runs::default() };
            history.add_runs(&[RunsAdded { queue, kind: None, runs }]).await.unwrap();
            clock.advance(Duration::from_secs(60));
        }
        let ask = async |query: &str| {
            let path = format!("/v1/history?to=2026-01-01T01:00:00Z&step=1m&{query}");
            let request = Request::get(path).body(Body::empty()).unwrap();
            let answer = own_routes(client.clone()).oneshot(request).await.unwrap();
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            serde_json::from_slice::<HistoryBody>(&body).unwrap()
        };
        let first = ask("from=2026-01-01T00:00:00Z").await;
        assert_eq!((first.totals.len(), first.runs.len()), (2700, 3));
        assert_eq!(first.next.unwrap().to_string(), "2026-01-01T00:03:00Z");
        let rest = ask("from=2026-01-01T00:03:00Z").await;
        assert_eq!((rest.totals.len(), rest.runs.len(), rest.next), (900, 1, None));
        let of_queue = ask("from=2026-01-01T00:00:00Z&queue=q7").await;
        assert_eq!((of_queue.totals.len(), of_queue.runs.len(), of_queue.next), (4, 4, None));
        assert_eq!(of_queue.totals[3].enqueued, 4);
    }
}
