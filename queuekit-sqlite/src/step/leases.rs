//! Extending leases, and reports (contract R3.7 and R3.8).

use queuekit_core::capability::{ExtendOutcome, Report, ReportOutcome};
use queuekit_core::lifecycle::Transition;
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
        leases.iter().map(|lease| self.extend_one(lease, ttl)).collect()
    }

    pub(crate) fn report(&mut self, reports: &[Report]) -> Result<Vec<ReportOutcome>> {
        reports.iter().map(|report| self.report_one(report)).collect()
    }

    fn extend_one(&mut self, lease: &LeaseToken, ttl: LeaseTtl) -> Result<ExtendOutcome> {
        let Some((mut record, of_queue)) = self.job_of_lease(lease)? else {
            return Ok(ExtendOutcome::NotFound);
        };
        if !of_queue || !record.is_held_by(lease) {
            return Ok(ExtendOutcome::LeaseLost);
        }
        let cancel_requested = record.cancel_requested;
        let expires_at = self.now + ttl.get();
        self.apply(&mut record, Transition::Extend, |record| {
            record.lease_expires_at = Some(expires_at);
        })?;
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
