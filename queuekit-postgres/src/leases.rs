//! Extending leases, reports, presence of workers.

use async_trait::async_trait;
use queuekit_core::capability::{
    Beat, ExtendOutcome, Leases, Orders, Report, ReportOutcome, WorkerInfo, WorkerPage,
};
use queuekit_core::{LeaseToken, LeaseTtl, PageSize, Result, WorkerId};

use crate::PostgresStore;
use crate::call::Call;
use crate::read;
use crate::step;

#[async_trait]
impl Leases for PostgresStore {
    async fn extend(&self, leases: &[LeaseToken], ttl: LeaseTtl) -> Result<Vec<ExtendOutcome>> {
        if leases.is_empty() {
            return Ok(Vec::new());
        }
        let input = (leases, ttl);
        let extended = self.call("extend", Call::Heartbeat, input, |input, session| {
            let (leases, ttl) = *input;
            Box::pin(step::extend(session, leases, ttl))
        });
        extended.await
    }

    async fn report(&self, reports: &[Report]) -> Result<Vec<ReportOutcome>> {
        if reports.is_empty() {
            return Ok(Vec::new());
        }
        let reported = self.call("report", Call::Once, reports, |reports, session| {
            Box::pin(step::report(session, reports))
        });
        reported.await
    }

    async fn beat(&self, beat: &Beat) -> Result<Orders> {
        let input = (beat, &self.shared.limits);
        let recorded = self.call("beat", Call::Heartbeat, input, |(beat, limits), session| {
            Box::pin(step::beat(session, beat, limits))
        });
        recorded.await
    }

    async fn forget_worker(&self, worker: &WorkerId) -> Result<bool> {
        let forgotten = self.call("forget_worker", Call::Once, worker, |worker, session| {
            Box::pin(step::forget_worker(session, worker))
        });
        forgotten.await
    }

    async fn list_workers(&self, after: Option<&WorkerId>, limit: PageSize) -> Result<WorkerPage> {
        let page = (after, limit);
        let workers = self.call("list_workers", Call::Repeatable, page, |page, session| {
            Box::pin(read::list_workers(session, page.0, page.1))
        });
        workers.await
    }

    async fn find_worker(&self, worker: &WorkerId) -> Result<Option<WorkerInfo>> {
        let found = self.call("find_worker", Call::Repeatable, worker, |worker, session| {
            Box::pin(read::find_worker(session, worker))
        });
        found.await
    }
}
