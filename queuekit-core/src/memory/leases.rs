//! Extending leases, reports, presence of workers (contract R3.7 to R3.9).

use std::ops::Bound::{Excluded, Unbounded};

use async_trait::async_trait;

use super::tables::{StoredWorker, Tables};
use super::{Faults, MemoryStore, Operation};
use crate::backend::{AnswerBytes, LeaseToken, LeaseTtl, PageSize};
use crate::capability::{
    Beat, ExtendOutcome, Leases, Orders, Report, ReportOutcome, WorkerInfo, WorkerPage,
};
use crate::error::Result;
use crate::lifecycle::Transition;
use crate::names::WorkerId;
use crate::store_limits::Limits;

#[async_trait]
impl Leases for MemoryStore {
    async fn extend(&self, leases: &[LeaseToken], ttl: LeaseTtl) -> Result<Vec<ExtendOutcome>> {
        self.step(Operation::Extend, |tables| {
            let faults = &self.shared.faults;
            Ok(leases.iter().map(|lease| tables.extend(lease, ttl, faults)).collect())
        })
    }

    async fn report(&self, reports: &[Report]) -> Result<Vec<ReportOutcome>> {
        self.step(Operation::Report, |tables| {
            Ok(reports.iter().map(|report| tables.report(report)).collect())
        })
    }

    async fn beat(&self, beat: &Beat) -> Result<Orders> {
        self.step(Operation::Beat, |tables| tables.beat(beat, &self.shared.limits))
    }

    async fn forget_worker(&self, worker: &WorkerId) -> Result<bool> {
        self.step(Operation::ForgetWorker, |tables| {
            let gone = tables.workers.remove(worker);
            Ok(gone.is_some_and(|worker| worker.is_listed(tables.now)))
        })
    }

    async fn list_workers(&self, after: Option<&WorkerId>, limit: PageSize) -> Result<WorkerPage> {
        self.step(Operation::ListWorkers, |tables| {
            let from = (after.map_or(Unbounded, Excluded), Unbounded);
            let stored = tables.workers.range::<WorkerId, _>(from);
            let (mut page, mut bytes) = (WorkerPage::default(), AnswerBytes::default());
            for live in stored.filter_map(|(_, worker)| tables.live(worker)) {
                if !page.take(limit, &mut bytes, live) {
                    break;
                }
            }
            Ok(page)
        })
    }

    async fn find_worker(&self, worker: &WorkerId) -> Result<Option<WorkerInfo>> {
        self.step(Operation::FindWorker, |tables| {
            Ok(tables.workers.get(worker).and_then(|worker| tables.live(worker)))
        })
    }
}

impl Tables {
    pub(super) fn live_workers(&self) -> impl Iterator<Item = &Beat> {
        let live = self.workers.values().filter(|worker| worker.is_listed(self.now));
        live.map(|worker| &worker.beat)
    }

    fn live(&self, worker: &StoredWorker) -> Option<WorkerInfo> {
        let StoredWorker { beat, at, orders } = worker;
        let info = || WorkerInfo::new(beat.clone(), self.now.since(*at)).with_orders(*orders);
        worker.is_listed(self.now).then(info)
    }

    /// Counts a new worker; workers that are no longer listed do not count.
    fn beat(&mut self, beat: &Beat, limits: &Limits) -> Result<Orders> {
        let at = self.now;
        let listed = self.workers.get(&beat.id).filter(|worker| worker.is_listed(at));
        let orders = match listed {
            Some(worker) => worker.orders.after(beat.obeyed()),
            None => {
                // Only a new worker pays for this scan. A known one beats often.
                self.workers.retain(|_, worker| worker.is_listed(at));
                limits.admit_worker(self.workers.len()).map_err(|error| error.on(&beat.id))?;
                Orders::of_new(beat.obeyed())
            }
        };
        self.workers.insert(beat.id.clone(), StoredWorker { beat: beat.clone(), at, orders });
        Ok(orders)
    }

    fn extend(&mut self, lease: &LeaseToken, ttl: LeaseTtl, faults: &Faults) -> ExtendOutcome {
        let Some(record) = self.jobs.get(&lease.id) else {
            return ExtendOutcome::NotFound;
        };
        if !record.is_held_by(lease) {
            return ExtendOutcome::LeaseLost;
        }
        if faults.take_lost_lease() {
            self.expire(lease.id);
            return ExtendOutcome::LeaseLost;
        }
        let cancel_requested = record.cancel_requested;
        let expires_at = self.now + ttl.get();
        self.apply(lease.id, Transition::Extend, |record| record.lease_expires_at = expires_at);
        ExtendOutcome::Extended { ttl: ttl.get(), cancel_requested }
    }

    fn report(&mut self, report: &Report) -> ReportOutcome {
        let Some(record) = self.jobs.get_mut(&report.lease.id) else {
            return ReportOutcome::NotFound;
        };
        if !record.is_held_by(&report.lease) {
            return ReportOutcome::LeaseLost;
        }
        record.report(report, self.now);
        ReportOutcome::Reported
    }
}
