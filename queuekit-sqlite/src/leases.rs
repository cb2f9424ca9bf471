//! Extending leases, reports, presence of workers.

use async_trait::async_trait;
use queuekit_core::capability::{
    Beat, ExtendOutcome, Leases, Orders, Report, ReportOutcome, WorkerInfo, WorkerPage,
};
use queuekit_core::{LeaseToken, LeaseTtl, PageSize, Result, WorkerId};

use crate::SqliteStore;
use crate::error::in_part;

/// The most reports that one step stores: each may have 100 lines, and other writers wait.
const REPORTS: usize = 50;

#[async_trait]
impl Leases for SqliteStore {
    async fn extend(&self, leases: &[LeaseToken], ttl: LeaseTtl) -> Result<Vec<ExtendOutcome>> {
        if leases.is_empty() {
            return Ok(Vec::new());
        }
        let leases = leases.to_vec();
        self.write("extend", move |step| step.extend(&leases, ttl)).await
    }

    async fn report(&self, reports: &[Report]) -> Result<Vec<ReportOutcome>> {
        if reports.is_empty() {
            return Ok(Vec::new());
        }
        let mut outcomes = Vec::with_capacity(reports.len());
        for reports in reports.chunks(REPORTS) {
            let reports = reports.to_vec();
            let reported = self.write("report", move |step| step.report(&reports)).await;
            let begun = !outcomes.is_empty();
            outcomes.extend(reported.map_err(|error| if begun { in_part(error) } else { error })?);
        }
        Ok(outcomes)
    }

    async fn beat(&self, beat: &Beat) -> Result<Orders> {
        let beat = beat.clone();
        self.write("beat", move |step| step.beat(&beat)).await
    }

    async fn forget_worker(&self, worker: &WorkerId) -> Result<bool> {
        let worker = worker.clone();
        self.write("forget_worker", move |step| step.forget_worker(&worker)).await
    }

    async fn list_workers(&self, after: Option<&WorkerId>, limit: PageSize) -> Result<WorkerPage> {
        let after = after.cloned();
        self.read("list_workers", move |step| step.list_workers(after.as_ref(), limit)).await
    }

    async fn find_worker(&self, worker: &WorkerId) -> Result<Option<WorkerInfo>> {
        let worker = worker.clone();
        self.read("find_worker", move |step| step.find_worker(&worker)).await
    }
}
