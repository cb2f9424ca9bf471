//! What all routes share.

use std::sync::Arc;

use queuekit::capability::{Admin, Leases};
use queuekit::{Backend, Client, Clock, Job, JobId, SystemClock, Timestamp};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::metrics::Metrics;
use crate::http::json::Intake;
use crate::http::{Caller, HttpOptions, Problem};

/// The store, and what bounds the work on it; clones share it.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

struct Shared {
    client: Client,
    intake: Arc<Intake>,
    /// Long polls and streams.
    waiting: Arc<Semaphore>,
    metrics: Metrics,
    clock: SystemClock,
    stopping: CancellationToken,
}

impl App {
    pub(crate) fn new(client: Client, options: &HttpOptions, stopping: CancellationToken) -> Self {
        Self(Arc::new(Shared {
            client,
            intake: Arc::new(Intake::new(&options.limits)),
            waiting: Arc::new(Semaphore::new(options.limits.waiting)),
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

    /// A place among those who wait.
    ///
    /// # Errors
    /// 503 if there are too many.
    pub(crate) fn wait(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let permit = Arc::clone(&self.0.waiting).try_acquire_owned();
        permit.map_err(|_| Problem::overloaded("long polls and streams"))
    }

    /// The job of this id, if there is one for the eyes of this caller.
    ///
    /// # Errors
    /// 404 if not.
    pub(crate) async fn job(&self, caller: &Caller, id: JobId) -> Result<Job, Problem> {
        let job = self.client().get_job(id).await?.filter(|job| caller.sees(job));
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
