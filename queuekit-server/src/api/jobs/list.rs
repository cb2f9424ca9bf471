//! Reading jobs.

use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State;
use axum::response::Response;
use queuekit::jobs::{Cursor, JobFilter, Why};
use queuekit::{Job, JobId};

use crate::api::answer_memory::BUDGET_BYTES;
use crate::api::app::App;
use crate::api::params::{Id, Params, Wait};
use crate::web::fair_share::SharePermit;
use crate::web::lookups::lookup_turn_with;
use crate::web::memory_budget::RequestBudget;
use crate::web::searches::search_turn;
use crate::web::{Caller, Problem, Scope, response_budget};
use crate::wire::{ExaminedBody, JobQuery, JobsBody, WhyBody};

/// Lists jobs, a page at a time.
///
/// The order is queue by queue, and in each queue running, ready, failed, scheduled, blocked, dead,
/// cancelled, completed. With `recent` it is the time of their end, the newest first. A page may be
/// short or empty and still have a cursor. It looks at no more
/// than 10,000 jobs, and with `metadata` or `payload` at no more than 64 MiB of them.
#[utoipa::path(
    get, path = "/v1/jobs", tag = "jobs", security(("key" = [])), params(JobQuery),
    responses((status = 200, description = "A page.", body = JobsBody))
)]
pub(crate) async fn list_jobs(
    State(app): State<App>,
    caller: Caller,
    query: JobQuery,
) -> Result<Response, Problem> {
    page(&app, &caller, query.filter()?).await
}

/// Gets a job, as soon as it has ended if `wait_ms` is given.
///
/// At the end of the wait, the answer is the job as it is then.
#[utoipa::path(
    get, path = "/v1/jobs/{id}", tag = "jobs", security(("key" = [])),
    params(("id" = String, Path, format = Uuid), Wait),
    responses(
        (status = 200, description = "The job.", body = Job),
        (status = 404, description = "The job does not exist."),
    )
)]
pub(crate) async fn get_job(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
    Params(wait): Params<Wait>,
) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    let wait = wait.time()?;
    // A call that does not wait does not count as a long poll.
    let _place = if wait.is_zero() { None } else { Some(app.poll(&caller)?) };
    let mut budget = app.budget_of_job(&caller).await?;
    let mut job = app.job(&caller, id).await?;
    if !wait.is_zero() && !job.state.is_terminal() {
        // Hold no memory while waiting.
        drop((job, budget));
        wait_for(&app, &caller, id, wait).await?;
        budget = app.budget_of_job(&caller).await?;
        job = app.job(&caller, id).await?;
    }
    response_budget::answer(budget, &job).await
}

/// Waits until the job has ended, or for this time.
async fn wait_for(app: &App, caller: &Caller, id: JobId, time: Duration) -> Result<(), Problem> {
    tokio::select! {
        biased;
        () = caller.ended() => Err(Problem::key_ended()),
        () = app.stopping().cancelled() => Ok(()),
        ended = app.client().jobs().ends_within(id, time) => Ok(ended.map(drop)?),
    }
}

/// Explains why a job is not running.
#[utoipa::path(
    get, path = "/v1/jobs/{id}/why", tag = "jobs", security(("key" = [])),
    params(("id" = String, Path, format = Uuid)),
    responses(
        (status = 200, description = "The reason.", body = WhyBody),
        (status = 404, description = "The job does not exist."),
    )
)]
pub(crate) async fn why(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
) -> Result<Answer<WhyBody>, Problem> {
    caller.need(Scope::Read)?;
    // A store may read the whole job for it, and what all workers serve.
    let mut budget = app.no_budget(&caller);
    let _turn = lookup_turn_with(&mut budget, app.bytes_of_job()).await?;
    app.need_job(&caller, id, &mut budget).await?;
    let why = app.admin()?.why(id).await?.ok_or_else(|| Problem::not_found("job"))?;
    let mut sentence = why.to_string();
    if let Why::Blocked { key, behind: Some(id) } = &why
        && app.need_job(&caller, *id, &mut budget).await.is_err()
    {
        sentence = format!("blocked behind another job of partition key {key}");
    }
    Ok(Answer(WhyBody { reason: reason(&why).into(), sentence }))
}

/// The jobs of a page that the caller may see; the page may be short, as any page may be.
pub(in crate::api) async fn page(
    app: &App,
    caller: &Caller,
    filter: JobFilter,
) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    caller.need_named(filter.queue.as_ref(), filter.kind.as_ref())?;
    let (budget, turn) = to_read(app, caller, &filter).await?;
    let page = app.store().list_jobs(&filter).await?;
    drop(turn);
    let jobs: Vec<&Job> = page.items.iter().filter(|job| caller.sees(job)).collect();
    let cursor = page.next.as_ref().map(Cursor::to_string);
    // It may be the id of a job that the key may not see.
    let up_to = page.examined.up_to().filter(|_| !caller.is_bound());
    let examined = ExaminedBody { jobs: page.examined.jobs(), up_to };
    response_budget::answer(budget, &JobsBody { jobs, cursor, examined }).await
}

/// Memory for the jobs that a filter finds, and a turn if it searches their contents.
///
/// A request holds no memory while it waits for a turn. It does not wait for memory while it has a
/// turn, because all keys share the turns.
pub(super) async fn to_read(
    app: &App,
    caller: &Caller,
    filter: &JobFilter,
) -> Result<(RequestBudget, Option<SharePermit>), Problem> {
    let budget = app.budget(caller).await?;
    if !filter.needs_content() {
        return Ok((budget, None));
    }
    drop(budget);
    let turn = search_turn(caller).await?;
    let mut budget = app.no_budget(caller);
    budget.take_for_answer(BUDGET_BYTES).await?;
    Ok((budget, Some(turn)))
}

fn reason(why: &Why) -> &'static str {
    match why {
        Why::Paused { .. } => "paused",
        Why::Blocked { .. } => "blocked",
        Why::Scheduled { .. } => "scheduled",
        Why::WaitingForRetry { .. } => "waiting_for_retry",
        Why::Undecodable { .. } => "undecodable",
        Why::NoLiveWorker { .. } => "no_live_worker",
        Why::Ready { .. } => "ready",
        Why::Running { .. } => "running",
        Why::Expired { .. } => "expired",
        Why::Ended { .. } => "ended",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;
    use queuekit::Client;
    use queuekit::jobs::{BulkAction, BulkRequest};
    use queuekit::memory::MemoryStore;
    use queuekit::store::{Backend, Page};
    use queuekit_conformance::{Layer, Wrapped};

    use super::super::bulk::in_parts;
    use super::*;
    use crate::api::test_app::app_of;
    use crate::web::auth::tests::caller_for;

    /// Counts the listings in progress, and the most of them.
    #[derive(Debug)]
    struct Counting {
        inner: Arc<dyn Backend>,
        now: AtomicUsize,
        most: Arc<AtomicUsize>,
    }

    #[queuekit::store::async_trait]
    impl Layer for Counting {
        fn inner(&self) -> &Arc<dyn Backend> {
            &self.inner
        }

        async fn list_jobs(&self, filter: &JobFilter) -> queuekit::Result<Page<Job>> {
            let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            // The others begin meanwhile, if they may.
            tokio::task::yield_now().await;
            let page = self.inner.list_jobs(filter).await;
            self.now.fetch_sub(1, Ordering::SeqCst);
            page
        }
    }

    /// Guard: a search does not wait for memory while it has a turn.
    #[tokio::test(flavor = "multi_thread")]
    async fn s6_a_search_that_waits_for_its_own_memory_keeps_no_other_from_the_turn() {
        let app = app_of(Client::new(MemoryStore::new()));
        let own = caller_for("q", Scope::Read);
        // The memory for answers of this key.
        let mut held = Vec::new();
        loop {
            let mut budget = app.no_budget(&own);
            if budget.take_for_answer(BUDGET_BYTES).await.is_err() {
                break;
            }
            held.push(budget);
        }
        let filter = JobFilter::default().payload("a:1");
        let waiting = tokio::spawn({
            let (app, filter) = (app.clone(), filter.clone());
            async move { to_read(&app, &own, &filter).await.is_ok() }
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        let operator = Caller::operator();
        let other = tokio::time::timeout(Duration::from_secs(3), to_read(&app, &operator, &filter));
        assert!(other.await.is_ok_and(|read| read.is_ok()));
        assert!(!waiting.is_finished());
        drop(held);
        assert!(waiting.await.unwrap());
    }

    /// Guard: a search of contents takes a place first, and so does an action on what it finds.
    #[tokio::test(flavor = "multi_thread")]
    async fn s6_searches_of_contents_leave_half_of_the_cores_to_others() {
        // As many as there is memory for at once.
        const PAGES: usize = 5;
        let most = Arc::new(AtomicUsize::new(0));
        let inner = Arc::new(MemoryStore::new());
        let store = Counting { inner, now: AtomicUsize::new(0), most: Arc::clone(&most) };
        let app = app_of(Client::new(Wrapped(store)));
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        for (filter, expected) in [
            (JobFilter::default().payload("a:1"), cores.div_ceil(2)),
            (JobFilter::default().metadata("a:1"), cores.div_ceil(2)),
            (JobFilter::default(), PAGES),
        ] {
            let caller = Caller::operator();
            let pages = (0..PAGES).map(|_| page(&app, &caller, filter.clone()));
            assert!(join_all(pages).await.iter().all(Result::is_ok));
            assert_eq!(most.swap(0, Ordering::SeqCst), expected.min(PAGES));
            let request = BulkRequest::new(BulkAction::Cancel, filter);
            let actions = (0..PAGES).map(|_| in_parts(&app, &caller, &request, None));
            assert!(join_all(actions).await.iter().all(Result::is_ok));
            assert_eq!(most.swap(0, Ordering::SeqCst), expected.min(PAGES), "of actions");
        }
    }
}
