//! Extending leases, reports, presence of workers (contract R3.7 to R3.9).

use std::ops::Bound::{Excluded, Unbounded};

use async_trait::async_trait;

use super::tables::Tables;
use super::{Faults, MemoryStore, Operation};
use crate::backend::{AnswerBytes, LeaseToken, LeaseTtl, PageSize};
use crate::capability::{
    Beat, ExtendOutcome, Leases, Report, ReportOutcome, WorkerInfo, WorkerPage,
};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::lifecycle::Transition;
use crate::limits::Limits;
use crate::names::WorkerId;

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

    async fn beat(&self, beat: &Beat) -> Result<()> {
        self.step(Operation::Beat, |tables| tables.beat(beat, &self.shared.limits))
    }

    async fn forget_worker(&self, worker: &WorkerId) -> Result<bool> {
        self.step(Operation::ForgetWorker, |tables| {
            let gone = tables.workers.remove(worker);
            Ok(gone.is_some_and(|(beat, at)| beat.is_listed(at, tables.now)))
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
        let live = self.workers.values().filter(|(beat, at)| beat.is_listed(*at, self.now));
        live.map(|(beat, _)| beat)
    }

    fn live(&self, (beat, at): &(Beat, Timestamp)) -> Option<WorkerInfo> {
        let info = || WorkerInfo { beat: beat.clone(), age: self.now.since(*at) };
        beat.is_listed(*at, self.now).then(info)
    }

    /// Counts a new worker; workers that are no longer listed do not count.
    fn beat(&mut self, beat: &Beat, limits: &Limits) -> Result<()> {
        let now = self.now;
        if !self.workers.contains_key(&beat.id) {
            self.workers.retain(|_, (beat, at)| beat.is_listed(*at, now));
            limits.admit_worker(self.workers.len()).map_err(|error| error.on(&beat.id))?;
        }
        self.workers.insert(beat.id.clone(), (beat.clone(), now));
        Ok(())
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
