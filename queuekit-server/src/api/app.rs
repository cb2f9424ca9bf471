//! What all routes share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use queuekit::capability::{Admin, Leases};
use queuekit::{
    Backend, Client, Clock, ErrorKind, Job, JobFilter, JobId, PageSize, SystemClock, Timestamp,
};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::metrics::Metrics;
use super::portion::{Lately, ROOM};
use super::wire::QueueBody;
use super::work::beating::Beating;
use crate::http::bound::Place;
use crate::http::json::Intake;
use crate::http::keys::Keys;
use crate::http::limits::LiveLimits;
use crate::http::room::Room;
use crate::http::{Caller, Problem};

/// The store, and what bounds the work on it; clones share it.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

/// How old figures may be that are shared.
const FRESH: Duration = Duration::from_millis(900);
/// The store is given this long to say that it is there.
const PATIENCE: Duration = Duration::from_secs(5);

/// A queue, and a number that is another one when something has changed but time alone.
pub(crate) struct Figure {
    pub(crate) fingerprint: u64,
    pub(crate) queue: QueueBody,
}

struct Figures {
    at: Instant,
    queues: Arc<Vec<Figure>>,
}

struct Shared {
    client: Client,
    intake: Arc<Intake>,
    limits: Arc<LiveLimits>,
    figures: Mutex<Option<Figures>>,
    /// Why the store took no writes, if it took none, and when that was.
    ready: Mutex<Option<(Instant, Option<&'static str>)>>,
    lately: Lately,
    beating: Beating,
    keys: Keys,
    metrics: Metrics,
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
            client,
            intake: Arc::new(Intake::new(Arc::clone(&limits))),
            limits,
            figures: Mutex::new(None),
            ready: Mutex::new(None),
            lately: Lately::unknown(),
            beating: Beating::default(),
            keys,
            metrics: Metrics::install(),
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
    /// 501 if the store has none.
    pub(crate) fn admin(&self) -> Result<&dyn Admin, Problem> {
        self.store().capabilities().admin.ok_or_else(|| Problem::unsupported("administration"))
    }

    /// # Errors
    /// 501 if the store has none.
    pub(crate) fn leases(&self) -> Result<&dyn Leases, Problem> {
        self.store().capabilities().leases.ok_or_else(|| Problem::unsupported("leases to extend"))
    }

    /// The figures of all queues, at most a second old: however many watch,
    /// the store is asked once a second.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn figures(&self) -> Result<Arc<Vec<Figure>>, Problem> {
        let mut figures = self.0.figures.lock().await;
        let fresh = figures.as_ref().filter(|figures| figures.at.elapsed() < FRESH);
        if let Some(fresh) = fresh {
            return Ok(Arc::clone(&fresh.queues));
        }
        let queues = self.store().list_queues().await?;
        let bodies = queues.iter().map(QueueBody::of);
        let figure = |queue: QueueBody| Figure { fingerprint: queue.fingerprint(), queue };
        let queues = Arc::new(bodies.map(figure).collect());
        *figures = Some(Figures { at: Instant::now(), queues: Arc::clone(&queues) });
        Ok(queues)
    }

    /// Why the store takes no writes, if it takes none, as it was at most a second ago: whoever
    /// asks, and however often, it is asked once at a time.
    pub(crate) async fn why_not_ready(&self) -> Option<&'static str> {
        let mut ready = self.0.ready.lock().await;
        if let Some((at, why_not)) = *ready
            && at.elapsed() < FRESH
        {
            return why_not;
        }
        let why_not = match tokio::time::timeout(PATIENCE, self.check_writes()).await {
            Ok(Ok(())) => None,
            // Anybody may ask: paths and addresses are for the log.
            Ok(Err(error)) => {
                tracing::warn!(%error, "not ready");
                Some(match error.kind() {
                    ErrorKind::StorageFull => "the store has no room left and takes no writes",
                    _ => "the store takes no writes; the server's log says why",
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
        // One page of one job: what every store has, at a bounded cost.
        let limit = PageSize::new(1).unwrap_or_default();
        let filter = JobFilter { limit, ..JobFilter::default() };
        self.store().list_jobs(&filter).await.map(drop)
    }

    pub(super) fn limits(&self) -> &LiveLimits {
        &self.0.limits
    }

    /// How large the jobs are that are reserved.
    pub(super) fn lately(&self) -> &Lately {
        &self.0.lately
    }

    pub(super) fn beating(&self) -> &Beating {
        &self.0.beating
    }

    pub(super) fn keys(&self) -> &Keys {
        &self.0.keys
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// By this server's clock: for display only.
    pub(crate) fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Is cancelled when the server stops: who waits then comes to an end.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.0.stopping
    }

    /// A place among those who wait for work.
    ///
    /// # Errors
    /// 429 if the key has too many; 503 if there are too many.
    pub(crate) fn poll(&self, caller: &Caller) -> Result<Place, Problem> {
        self.0.limits.polls.take(caller)
    }

    /// A place among those who look for work once.
    ///
    /// # Errors
    /// 429 if the key has too many; 503 if there are too many.
    pub(crate) fn look(&self, caller: &Caller) -> Result<Place, Problem> {
        self.0.limits.looks.take(caller)
    }

    /// A place among those who watch.
    ///
    /// # Errors
    /// 429 if the key has too many; 503 if there are too many.
    pub(crate) fn watch(&self, caller: &Caller) -> Result<Place, Problem> {
        self.0.limits.streams.take(caller)
    }

    /// Room for a page, which is to be taken before the store is asked for it.
    ///
    /// # Errors
    /// 429 or 503 if there is none for a while.
    pub(super) async fn room(&self, caller: &Caller) -> Result<Room, Problem> {
        self.room_for(caller, ROOM).await
    }

    /// The same, for so many bytes.
    ///
    /// # Errors
    /// 429 or 503 if there is none for a while.
    pub(super) async fn room_for(&self, caller: &Caller, bytes: usize) -> Result<Room, Problem> {
        let mut room = self.0.intake.room(caller);
        room.wait_for(bytes).await?;
        Ok(room)
    }

    /// The job of this id, if there is one for the eyes of this caller.
    ///
    /// # Errors
    /// 404 if not.
    pub(crate) async fn job(&self, caller: &Caller, id: JobId) -> Result<Job, Problem> {
        let job = self.client().jobs().get(id).await?.filter(|job| caller.sees(job));
        job.ok_or_else(|| Problem::not_found("job"))
    }

    /// Looks at the job only where some are hidden from the caller.
    ///
    /// # Errors
    /// 404 if this one is.
    pub(crate) async fn need_job(&self, caller: &Caller, id: JobId) -> Result<(), Problem> {
        if caller.is_bound() {
            self.job(caller, id).await?;
        }
        Ok(())
    }
}

impl AsRef<Arc<Intake>> for App {
    fn as_ref(&self) -> &Arc<Intake> {
        &self.0.intake
    }
}

#[cfg(test)]
mod tests {
    use queuekit::memory::{MemoryStore, Operation, When};

    use super::*;
    use crate::config::{HttpFlags, Sources};

    #[tokio::test]
    async fn s6_whether_the_store_is_ready_is_asked_once_a_second() {
        let store = Arc::new(MemoryStore::new());
        let options = HttpFlags::default().resolve(&Sources::default()).unwrap();
        let client = Client::new(Arc::clone(&store));
        let limits = LiveLimits::new(&options.limits);
        let app = App::new(client, options.keys, limits, CancellationToken::new());
        store.faults().fail(Operation::Inspect, 1, When::Before);
        let asked = futures_util::future::join_all((0..100).map(|_| app.why_not_ready())).await;
        assert!(asked.iter().all(Option::is_some), "only the first question fails");
    }
}
