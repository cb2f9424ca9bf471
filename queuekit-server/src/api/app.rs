//! State that all routes share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use queuekit::jobs::JobFilter;
use queuekit::store::capability::{Admin, Leases};
use queuekit::store::{Backend, Clock, SystemClock};
use queuekit::{Client, ErrorKind, Job, JobId, Timestamp};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::answer_memory::{BESIDE_PAYLOAD, BUDGET_BYTES, RecentSizes};
use super::figures::{Figures, FiguresCache};
use super::page_length::PageLength;
use super::work::worker_limit::WorkerLimit;
use crate::web::fair_share::SharePermit;
use crate::web::json::BodyReader;
use crate::web::keys::Keys;
use crate::web::limits::LiveLimits;
use crate::web::lookups::{LookupTurn, lookup_turn_with};
use crate::web::memory_budget::RequestBudget;
use crate::web::{Caller, Problem};

/// The store, and the bounds of the work on it; clones share them.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

/// For how long it is believed that the store is ready, or not.
const FRESH: Duration = Duration::from_millis(900);
/// For how long figures are kept fresh after the last look at them.
const SEEN_FOR: Duration = Duration::from_secs(2);
/// A reserve takes a place for each this many queues that it names.
const QUEUES_PER_PLACE: usize = 50;
/// How long the store may take to answer a health check.
const READY_TIMEOUT: Duration = Duration::from_secs(5);

struct Shared {
    client: Client,
    body_reader: Arc<BodyReader>,
    limits: Arc<LiveLimits>,
    figures: FiguresCache,
    /// When the store was last asked, and why it accepted no writes, if it did not.
    ready: Mutex<Option<(Instant, Option<&'static str>)>>,
    recent_sizes: RecentSizes,
    worker_limit: WorkerLimit,
    keys: Keys,
    clock: SystemClock,
    stopping: CancellationToken,
}

impl App {
    pub(crate) fn new(
        client: Client,
        keys: Keys,
        limits: Arc<LiveLimits>,
        stopping: CancellationToken,
    ) -> Self {
        Self(Arc::new(Shared {
            figures: FiguresCache::new(client.clone(), stopping.clone()),
            client,
            body_reader: Arc::new(BodyReader::new(Arc::clone(&limits))),
            limits,
            ready: Mutex::new(None),
            recent_sizes: RecentSizes::default(),
            worker_limit: WorkerLimit::default(),
            keys,
            clock: SystemClock::default(),
            stopping,
        }))
    }

    pub(crate) fn client(&self) -> &Client {
        &self.0.client
    }

    pub(crate) fn store(&self) -> &dyn Backend {
        &**self.0.client.backend()
    }

    /// # Errors
    /// 501 if the store does not support it.
    pub(crate) fn admin(&self) -> Result<&dyn Admin, Problem> {
        self.store().capabilities().admin.ok_or_else(|| Problem::unsupported("administration"))
    }

    /// # Errors
    /// 501 if the store does not support it.
    pub(crate) fn leases(&self) -> Result<&dyn Leases, Problem> {
        self.store().capabilities().leases.ok_or_else(|| Problem::unsupported("leases to extend"))
    }

    /// The figures of all queues and workers, a second or two old. However many ask, the store is
    /// asked once a second.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn figures(&self) -> Result<Arc<Figures>, Problem> {
        Ok(self.0.figures.get().await?)
    }

    /// How many queues the store answers for quickly.
    pub(super) fn page_length(&self) -> &PageLength {
        self.0.figures.page_length()
    }

    /// The next figures after these, for a viewer, who may leave at any moment: the store is asked
    /// for only a moment longer. If it takes long, the last figures again.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn figures_after(
        &self,
        seen: Option<&Arc<Figures>>,
    ) -> queuekit::Result<Arc<Figures>> {
        let figures = &self.0.figures;
        match tokio::time::timeout(SEEN_FOR, figures.get_after(seen, SEEN_FOR)).await {
            Ok(next) => next,
            Err(_) => figures.get_after(None, SEEN_FOR).await,
        }
    }

    /// Why the store accepts no writes, if it does not, as it was at most a second ago. However
    /// many clients ask, the store is asked once at a time.
    pub(crate) async fn why_not_ready(&self) -> Option<&'static str> {
        let mut ready = self.0.ready.lock().await;
        if let Some((at, why_not)) = *ready
            && at.elapsed() < FRESH
        {
            return why_not;
        }
        let why_not = match tokio::time::timeout(READY_TIMEOUT, self.check_writes()).await {
            Ok(Ok(())) => None,
            // Anybody may ask, so paths and addresses go to the log only.
            Ok(Err(error)) => {
                tracing::warn!(%error, "not ready");
                Some(match error.kind() {
                    ErrorKind::StorageFull => "the store has no room left and accepts no writes",
                    _ => "the store accepts no writes; the server's log says why",
                })
            }
            Err(_) => Some("the store does not answer"),
        };
        *ready = Some((Instant::now(), why_not));
        why_not
    }

    async fn check_writes(&self) -> queuekit::Result<()> {
        if let Some(inspect) = self.store().capabilities().inspect {
            return inspect.check_writes().await;
        }
        // Read a page of one job, which every store can do at a bounded cost.
        let filter = JobFilter::default().limit(1);
        self.store().list_jobs(&filter).await.map(drop)
    }

    /// How long a body may take to arrive.
    pub(crate) fn body_timeout(&self) -> Duration {
        self.0.limits.now().body_timeout
    }

    pub(crate) fn body_reader(&self) -> &BodyReader {
        &self.0.body_reader
    }

    pub(super) fn limits(&self) -> &LiveLimits {
        &self.0.limits
    }

    /// How large the jobs reserved lately were.
    pub(super) fn recent_sizes(&self) -> &RecentSizes {
        &self.0.recent_sizes
    }

    pub(super) fn worker_limit(&self) -> &WorkerLimit {
        &self.0.worker_limit
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.0.keys
    }

    /// By this server's clock: for display only.
    pub(crate) fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Cancelled when the server stops, so that waiting calls end.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.0.stopping
    }

    /// A place among long polls.
    ///
    /// # Errors
    /// 429 if the key has too many; 503 if there are too many.
    pub(crate) fn poll(&self, caller: &Caller) -> Result<SharePermit, Problem> {
        self.0.limits.polls.take(caller)
    }

    /// Places for a reserve of this many queues, among long polls if it waits for jobs: the names
    /// take memory, and the store watches each of them.
    ///
    /// # Errors
    /// 429 if the key has too many; 503 if there are too many.
    pub(crate) fn reserve(
        &self,
        caller: &Caller,
        queues: usize,
        waits: bool,
    ) -> Result<SharePermit, Problem> {
        let limits = &self.0.limits;
        // A call that does not wait does not count as a long poll.
        let places = if waits { &limits.polls } else { &limits.looks };
        places.take_many(caller, queues.div_ceil(QUEUES_PER_PLACE))
    }

    /// A place among streams.
    ///
    /// # Errors
    /// 429 if the key has too many; 503 if there are too many.
    pub(crate) fn watch(&self, caller: &Caller) -> Result<SharePermit, Problem> {
        self.0.limits.streams.take(caller)
    }

    /// Memory for a page, taken before the page is read.
    ///
    /// # Errors
    /// 429 or 503 if there is none for a while.
    pub(super) async fn budget(&self, caller: &Caller) -> Result<RequestBudget, Problem> {
        let mut budget = self.no_budget(caller);
        budget.wait_for(BUDGET_BYTES).await?;
        Ok(budget)
    }

    /// Memory for an answer that the store has to add up, and a turn to read it.
    ///
    /// # Errors
    /// 429 or 503 if there is none for a while.
    pub(super) async fn look_up(
        &self,
        caller: &Caller,
    ) -> Result<(RequestBudget, LookupTurn), Problem> {
        let mut budget = self.no_budget(caller);
        let turn = lookup_turn_with(&mut budget, BUDGET_BYTES).await?;
        Ok((budget, turn))
    }

    /// Memory for one job, taken before it is read.
    ///
    /// # Errors
    /// 429 or 503 if there is none for a while.
    pub(super) async fn budget_of_job(&self, caller: &Caller) -> Result<RequestBudget, Problem> {
        let mut budget = self.no_budget(caller);
        budget.wait_for(self.bytes_of_job()).await?;
        Ok(budget)
    }

    /// For a job with the largest payload of this store, and for its JSON.
    pub(super) fn bytes_of_job(&self) -> usize {
        let payload = self.store().capabilities().limits.payload_bytes();
        BUDGET_BYTES.min(2 * (payload + BESIDE_PAYLOAD))
    }

    /// Memory for an answer with leases of this number of bytes.
    ///
    /// # Errors
    /// 429 or 503 if there is none for a while.
    pub(super) async fn room_for_leases(
        &self,
        caller: &Caller,
        bytes: usize,
    ) -> Result<RequestBudget, Problem> {
        let mut budget = self.no_budget(caller).for_leases();
        budget.wait_for(bytes).await?;
        Ok(budget)
    }

    /// No memory yet: it may grow.
    pub(crate) fn no_budget(&self, caller: &Caller) -> RequestBudget {
        self.0.body_reader.budget(caller)
    }

    /// The job of this id.
    ///
    /// # Errors
    /// 404 if it does not exist, or if the caller may not see it.
    pub(crate) async fn job(&self, caller: &Caller, id: JobId) -> Result<Job, Problem> {
        let job = self.client().jobs().get(id).await?.filter(|job| caller.sees(job));
        job.ok_or_else(|| Problem::not_found("job"))
    }

    /// Checks that the caller may see the job; reads it only for a restricted key, and grows the
    /// memory of the request before that.
    ///
    /// # Errors
    /// 404 if the caller may not see it; 429 or 503 if there is no memory for a while.
    pub(crate) async fn need_job(
        &self,
        caller: &Caller,
        id: JobId,
        budget: &mut RequestBudget,
    ) -> Result<(), Problem> {
        if caller.is_bound() {
            budget.wait_for(self.bytes_of_job()).await?;
            self.job(caller, id).await?;
        }
        Ok(())
    }
}

impl AsRef<Arc<BodyReader>> for App {
    fn as_ref(&self) -> &Arc<BodyReader> {
        &self.0.body_reader
    }
}

#[cfg(test)]
mod tests {
    use queuekit::memory::{MemoryStore, Operation, When};

    use super::*;
    use crate::api::test_app::app_of;

    #[tokio::test]
    async fn s6_whether_the_store_is_ready_is_asked_once_a_second() {
        let store = Arc::new(MemoryStore::new());
        let app = app_of(Client::new(Arc::clone(&store)));
        store.faults().fail(Operation::Inspect, 1, When::Before);
        let asked = futures_util::future::join_all((0..100).map(|_| app.why_not_ready())).await;
        assert!(asked.iter().all(Option::is_some), "only the first question fails");
    }
}
