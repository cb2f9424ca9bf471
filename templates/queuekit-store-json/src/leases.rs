//! The capability `Leases`: with it a worker runs on the store (R3.7 to R3.9).

use std::ops::Bound::{Excluded, Unbounded};

use queuekit_core::backend::AnswerBytes;
use queuekit_core::capability::{
    Beat, ExtendOutcome, Leases, Orders, Report, ReportOutcome, WorkerInfo, WorkerPage,
};
use queuekit_core::lifecycle::Transition;
use queuekit_core::{LeaseToken, LeaseTtl, Limits, PageSize, Result, WorkerId, async_trait};

use crate::JsonStore;
use crate::data::Data;

#[async_trait]
impl Leases for JsonStore {
    async fn extend(&self, leases: &[LeaseToken], ttl: LeaseTtl) -> Result<Vec<ExtendOutcome>> {
        self.step("extend", |data| Ok(leases.iter().map(|lease| data.extend(lease, ttl)).collect()))
    }

    async fn report(&self, reports: &[Report]) -> Result<Vec<ReportOutcome>> {
        self.step("report", |data| Ok(reports.iter().map(|report| data.report(report)).collect()))
    }

    /// Without the capability `Control` there are no orders to answer.
    async fn beat(&self, beat: &Beat) -> Result<Orders> {
        self.step("beat", |data| data.beat(beat, &self.limits).map(|()| Orders::default()))
    }

    async fn forget_worker(&self, worker: &WorkerId) -> Result<bool> {
        self.step("forget_worker", |data| {
            data.changed = true;
            let gone = data.workers.remove(worker);
            Ok(gone.is_some_and(|(beat, at)| beat.is_listed(at, data.now)))
        })
    }

    async fn list_workers(&self, after: Option<&WorkerId>, limit: PageSize) -> Result<WorkerPage> {
        self.step("list_workers", |data| {
            let now = data.now;
            let from = (after.map_or(Unbounded, Excluded), Unbounded);
            let stored = data.workers.range::<WorkerId, _>(from).map(|(_, worker)| worker);
            let (mut page, mut bytes) = (WorkerPage::default(), AnswerBytes::default());
            for (beat, at) in stored.filter(|(beat, at)| beat.is_listed(*at, now)) {
                let live = WorkerInfo::new(beat.clone(), now.since(*at));
                if !page.take(limit, &mut bytes, live) {
                    break;
                }
            }
            Ok(page)
        })
    }
}

impl Data {
    fn extend(&mut self, lease: &LeaseToken, ttl: LeaseTtl) -> ExtendOutcome {
        let Some(record) = self.jobs.get(&lease.id) else { return ExtendOutcome::NotFound };
        if !record.is_held_by(lease) {
            return ExtendOutcome::LeaseLost;
        }
        let (cancel_requested, expires_at) = (record.cancel_requested, self.now + ttl.get());
        self.apply(lease.id, Transition::Extend, |record| record.lease_expires_at = expires_at);
        ExtendOutcome::Extended { ttl: ttl.get(), cancel_requested }
    }

    fn report(&mut self, report: &Report) -> ReportOutcome {
        let (id, now) = (report.lease.id, self.now);
        match self.jobs.get(&id) {
            None => ReportOutcome::NotFound,
            Some(record) if !record.is_held_by(&report.lease) => ReportOutcome::LeaseLost,
            Some(_) => {
                self.apply(id, Transition::Report, |record| record.report(report, now));
                ReportOutcome::Reported
            }
        }
    }

    /// Counts a new worker; workers that are no longer listed do not count.
    fn beat(&mut self, beat: &Beat, limits: &Limits) -> Result<()> {
        let now = self.now;
        if !self.workers.contains_key(&beat.id) {
            let live = self.live_workers().count();
            limits.admit_worker(live).map_err(|error| error.on(&beat.id))?;
            self.workers.retain(|_, (beat, at)| beat.is_listed(*at, now));
        }
        self.changed = true;
        self.workers.insert(beat.id.clone(), (beat.clone(), now));
        Ok(())
    }
}
