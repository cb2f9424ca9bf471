//! Extending leases, and reports (contract R3.7 and R3.8).

use std::collections::{BTreeMap, BTreeSet};

use queuekit_core::capability::{ExtendOutcome, Report, ReportOutcome};
use queuekit_core::limits::LOG_LINES_KEPT;
use queuekit_core::{LeaseToken, LeaseTtl, LogLine, Result};
use rusqlite::params;

use super::Step;
use crate::statements::*;

impl Step<'_> {
    pub(crate) fn extend(
        &mut self,
        leases: &[LeaseToken],
        ttl: LeaseTtl,
    ) -> Result<Vec<ExtendOutcome>> {
        // The jobs to extend, by claim: a set, because a call may name a lease twice.
        let mut held: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
        let mut outcomes = Vec::with_capacity(leases.len());
        for lease in leases {
            outcomes.push(self.extend_one(lease, ttl, &mut held)?);
        }
        let expires_at = self.now + ttl.get();
        for (claim, jobs) in held {
            self.extend_claim(claim, &jobs.into_iter().collect::<Vec<_>>(), expires_at)?;
        }
        Ok(outcomes)
    }

    pub(crate) fn report(&mut self, reports: &[Report]) -> Result<Vec<ReportOutcome>> {
        reports.iter().map(|report| self.report_one(report)).collect()
    }

    fn extend_one(
        &mut self,
        lease: &LeaseToken,
        ttl: LeaseTtl,
        held: &mut BTreeMap<i64, BTreeSet<i64>>,
    ) -> Result<ExtendOutcome> {
        let Some((record, of_queue)) = self.job_of_lease(lease)? else {
            return Ok(ExtendOutcome::NotFound);
        };
        if !of_queue || !record.is_held_by(lease) {
            return Ok(ExtendOutcome::LeaseLost);
        }
        if let Some(claim) = record.claim {
            held.entry(claim).or_default().insert(record.key);
        }
        let cancel_requested = record.cancel_requested;
        Ok(ExtendOutcome::Extended { ttl: ttl.get(), cancel_requested })
    }

    fn report_one(&mut self, report: &Report) -> Result<ReportOutcome> {
        let Some((record, of_queue)) = self.job_of_lease(&report.lease)? else {
            return Ok(ReportOutcome::NotFound);
        };
        if !of_queue || !record.is_held_by(&report.lease) {
            return Ok(ReportOutcome::LeaseLost);
        }
        if let Some(progress) = &report.progress {
            let fraction = f64::from(progress.fraction);
            self.execute(PROGRESS, params![record.key, fraction, progress.message])?;
        }
        // No more are kept.
        let skipped = report.lines.len().saturating_sub(LOG_LINES_KEPT);
        for line in &report.lines[skipped..] {
            let line = LogLine::new(self.now, line);
            self.execute(LOG_INSERT, params![record.key, line.at.as_millis(), line.text])?;
        }
        if !report.lines.is_empty() {
            self.execute(LOGS_TRIM, params![record.key, LOG_LINES_KEPT])?;
        }
        Ok(ReportOutcome::Reported)
    }
}
