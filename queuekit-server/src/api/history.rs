//! History: how things were an hour ago (contract R8.5).

mod reading;

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use queuekit::QueueName;
use queuekit::store::history::{HistoryQuery, Resolution, RunsRow, TotalsRow};
use queuekit::store::{Kind, Timestamp};

use reading::Reading;

use super::app::App;
use super::params::Params;
use crate::web::lookups::read_line;
use crate::web::{Caller, Problem, Scope, response_budget};
use crate::wire::{HistoryBody, HistoryParams, RunsRowBody, Time, TotalsRowBody};

/// What a row takes up in the answer, as it was read and as it is answered: a time may have rows
/// of 10,000 queues.
const TOTALS_BYTES: usize = 1024;
const RUNS_BYTES: usize = 3 * 1024;
/// How far back an answer begins if nothing else is asked for.
const BACK: Duration = Duration::from_secs(3600);

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
    let kind = params.kind.as_deref().map(Kind::new).transpose()?;
    // A key has one such call at a time, which may ask the store often.
    let _line = read_line(&caller).await?;
    let mut budget = app.budget(&caller).await?;
    let Rows { totals, runs, next } = rows(&app, &caller, &query, kind.as_ref()).await?;
    budget.wait_for(totals.len() * TOTALS_BYTES + runs.len() * RUNS_BYTES).await?;
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

/// The rows of whole times.
struct Rows {
    totals: Vec<TotalsRow>,
    runs: Vec<RunsRow>,
    /// Where the rows that follow begin.
    next: Option<Timestamp>,
}

/// The rows that the caller may see.
async fn rows(
    app: &App,
    caller: &Caller,
    query: &HistoryQuery,
    kind: Option<&Kind>,
) -> Result<Rows, Problem> {
    let history = app.store().capabilities().history;
    let history = history.ok_or_else(|| Problem::unsupported("history"))?;
    let mut read = Reading::new(history, caller, query);
    let mut totals: Vec<TotalsRow> =
        read.rows(|row: &TotalsRow| caller.sees_queue(row.queue.as_str())).await?;
    let runs = read.rows(|row: &RunsRow| is_seen(caller, row, kind)).await?;
    // The totals may reach further. What they have beyond the end would come again with the next
    // answer.
    totals.retain(|row| row.at < read.to);
    Ok(Rows { totals, runs, next: (read.to < query.to).then_some(read.to) })
}

/// Runs without a kind are those of several kinds, which a key for some kinds may not all see.
fn is_seen(caller: &Caller, row: &RunsRow, asked: Option<&Kind>) -> bool {
    let sees_kind = match &row.kind {
        Some(kind) => caller.sees_kind(kind.as_str()),
        None => !caller.is_bound_to_kinds(),
    };
    sees_kind
        && asked.is_none_or(|asked| row.kind.as_ref() == Some(asked))
        && caller.sees_queue(row.queue.as_str())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    use axum::body::Body;
    use axum::http::Request;
    use http_body_util::BodyExt;
    use queuekit::memory::MemoryStore;
    use queuekit::queues::Totals;
    use queuekit::store::history::{Histogram, Runs, RunsAdded};
    use queuekit::store::{Backend, ManualClock};
    use queuekit::{Client, JobDraft};
    use tower::ServiceExt;

    use super::reading::PAGES;
    use super::*;
    use crate::api::own_routes;
    use crate::api::test_app::{app_counting, app_of};
    use crate::web::auth::tests::{caller_for, caller_for_kind};

    /// A store in which each minute of the first ones has a row of each of these queues.
    async fn busy(minutes: usize, queues: &[String]) -> Arc<dyn Backend> {
        let clock = ManualClock::default();
        let store = MemoryStore::with_clock(clock.clone());
        let client = Client::new(store.clone());
        for _ in 0..minutes {
            for some in queues.chunks(1000) {
                let jobs = some.iter().map(|queue| JobDraft::new("work", "1").queue(queue));
                client.enqueue_all(jobs).await.unwrap().ids().unwrap();
            }
            assert!(store.capabilities().history.unwrap().record_totals().await.unwrap());
            clock.advance(Duration::from_secs(60));
        }
        Arc::new(store)
    }

    fn all_times() -> HistoryQuery {
        let (from, to) = (Timestamp::from_millis(0), Timestamp::from_millis(i64::MAX));
        HistoryQuery::new(Resolution::Minute, from, to)
    }

    fn queues_of(rows: &Rows) -> Vec<&str> {
        rows.totals.iter().map(|row| row.queue.as_str()).collect()
    }

    /// Guard: the rows of others are not read for a key that names its queues.
    #[tokio::test]
    async fn s6_the_history_of_few_named_queues_is_read_by_queue() {
        let others = (0..2000).map(|number| format!("q{number}"));
        let queues: Vec<String> = others.chain(["own".to_owned(), "z".to_owned()]).collect();
        let (app, reads) = app_counting("list_totals", &busy(3, &queues).await);
        let caller = caller_for("own", Scope::Read);
        let own = rows(&app, &caller, &all_times(), None).await.unwrap();
        assert_eq!((queues_of(&own), own.next), (vec!["own"; 3], None));
        assert_eq!(reads.swap(0, Ordering::Relaxed), 1);
        let caller = caller_for("z gone own own", Scope::Read);
        caller.spend(1).unwrap();
        let own = rows(&app, &caller, &all_times(), None).await.unwrap();
        assert_eq!(queues_of(&own), ["own", "z", "own", "z", "own", "z"]);
        assert_eq!(reads.load(Ordering::Relaxed), 3);
        assert!(caller.spend(1).is_err(), "each read after the first counts");
    }

    /// Guard: an answer ends after some pages, and the next one continues there.
    #[tokio::test]
    async fn s6_a_key_for_few_of_many_queues_has_little_history_read_at_once() {
        let of = |number| if number == 1500 { "own" } else { "other" };
        let queues: Vec<_> =
            (0..3000).map(|number| format!("q{number:04}.{}", of(number))).collect();
        let (app, reads) = app_counting("list_totals", &busy(10, &queues).await);
        let caller = caller_for("*.own", Scope::Read);
        let (mut query, mut seen, mut answers) = (all_times(), 0, 0);
        loop {
            let page = rows(&app, &caller, &query, None).await.unwrap();
            assert!(reads.swap(0, Ordering::Relaxed) <= PAGES + 3, "reads of one answer");
            assert!(caller.spend(1).is_err(), "each read after the first counts");
            seen += page.totals.len();
            answers += 1;
            let Some(next) = page.next else { break };
            query.from = next;
        }
        assert_eq!((seen, answers), (10, 2));
    }

    /// Guard: those runs may be of kinds that are hidden.
    #[tokio::test]
    async fn s11_a_key_for_some_kinds_sees_no_runs_of_several_kinds() {
        let store = MemoryStore::new();
        let runs = Runs { completed: 1, ..Runs::default() };
        let add = |kind: Option<&str>| {
            let (queue, kind) =
                (QueueName::new("q").unwrap(), kind.map(|kind| Kind::new(kind).unwrap()));
            RunsAdded { queue, kind, runs }
        };
        let added = [add(None), add(Some("a")), add(Some("b"))];
        store.capabilities().history.unwrap().add_runs(&added).await.unwrap();
        let app = app_of(Client::new(store));
        let kinds = async |caller: &Caller| {
            let rows = rows(&app, caller, &all_times(), None).await.unwrap();
            rows.runs
                .into_iter()
                .map(|row| row.kind.map(|kind| kind.to_string()))
                .collect::<Vec<_>>()
        };
        let of = |kind: &str| Some(kind.to_owned());
        assert_eq!(kinds(&caller_for_kind("a", Scope::Read)).await, [of("a")]);
        assert_eq!(kinds(&caller_for("q", Scope::Read)).await, [None, of("a"), of("b")]);
    }

    /// Guard: memory is taken for rows beyond those that an answer usually has.
    #[tokio::test(start_paused = true)]
    async fn s6_a_time_with_rows_of_many_queues_takes_memory_for_all() {
        let store = MemoryStore::new();
        let runs = Runs { completed: 1, ..Runs::default() };
        for tens in 0..10 {
            let queue = |number| QueueName::new(format!("q{tens}-{number}")).unwrap();
            let added = |number| RunsAdded { queue: queue(number), kind: None, runs };
            let added: Vec<_> = (0..1000).map(added).collect();
            store.capabilities().history.unwrap().add_runs(&added).await.unwrap();
        }
        let app = app_of(Client::new(store));
        let caller = Caller::operator();
        // Of 84 MiB for pages, a usual one finds room beside them: 17 MiB are left.
        let mut others: Vec<_> = (0..4).map(|_| app.no_budget(&caller)).collect();
        for (other, mib) in others.iter_mut().zip([33, 33, 1, 0]) {
            other.wait_for(mib << 20).await.unwrap();
        }
        let all = Params(HistoryParams::default());
        let asked = history(State(app.clone()), caller, all).await;
        assert_eq!(asked.map(drop).map_err(|problem| problem.kind()), Err("overloaded"));
    }

    #[test]
    fn s6_a_row_of_history_takes_no_more_than_is_counted() {
        let (queue, at) = (QueueName::new("q".repeat(128)).unwrap(), Timestamp::from_millis(0));
        let all = Histogram::of([u64::MAX; 24]);
        let mut runs = Runs { wait: all, run: all, ..Runs::default() };
        for number in [
            &mut runs.completed,
            &mut runs.failed,
            &mut runs.dead,
            &mut runs.released,
            &mut runs.cancelled,
            &mut runs.lost,
        ] {
            *number = u64::MAX;
        }
        let kind = Some(Kind::new("k".repeat(128)).unwrap());
        let body = RunsRowBody::of(&RunsRow { queue: queue.clone(), kind, at, runs });
        let json = serde_json::to_vec(&body).unwrap().len();
        let name = 128;
        assert!(json + size_of::<RunsRow>() + size_of::<RunsRowBody>() + 4 * name <= RUNS_BYTES);
        let totals = Totals::from_numbers(&[u64::MAX; 5]).unwrap();
        let body = TotalsRowBody::of(&TotalsRow { queue, at, read_at: at, totals });
        let json = serde_json::to_vec(&body).unwrap().len();
        assert!(
            json + size_of::<TotalsRow>() + size_of::<TotalsRowBody>() + 2 * name <= TOTALS_BYTES
        );
    }

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
