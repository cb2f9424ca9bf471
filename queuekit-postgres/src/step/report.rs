//! Progress and log lines of runs (contract R3.8).

use std::collections::{HashMap, HashSet};

use queuekit_core::capability::{Report, ReportOutcome};
use queuekit_core::limits::LOG_LINES_KEPT;
use queuekit_core::{JobId, LeaseToken, LogLine, Progress, Timestamp};
use uuid::Uuid;

use super::Change;
use crate::error::Outcome;
use crate::params::{once, params};
use crate::row::{job_id, job_uuid, nonce_uuid};
use crate::session::Session;
use crate::statements::Sql;

/// Stores all reports of a call in one statement, however many are of one job.
pub(crate) async fn report(
    session: &Session<'_>,
    reports: &[Report],
) -> Outcome<Vec<ReportOutcome>> {
    let all = by_lease(reports);
    let tried = with_one_lease_of_a_job(session, &all).await?;
    let recorded = store(session, &tried).await?;
    let is_recorded =
        |lease: &LeaseToken| tried.contains_key(lease) && recorded.contains(&lease.id);
    let lost = all.keys().filter(|lease| !is_recorded(lease));
    let lost: Vec<Uuid> = lost.map(|lease| job_uuid(lease.id)).collect();
    let change = match lost.is_empty() {
        true => None,
        false => Some(Change::read(session, lost).await?),
    };
    let outcome = |report: &Report| match &change {
        _ if is_recorded(&report.lease) => ReportOutcome::Reported,
        Some(change) if change.record(report.lease.id).is_none() => ReportOutcome::NotFound,
        _ => ReportOutcome::LeaseLost,
    };
    Ok(reports.iter().map(outcome).collect())
}

/// The reports of each lease, in their order.
type ByLease<'a> = HashMap<&'a LeaseToken, Reports<'a>>;

#[derive(Clone, Default)]
struct Reports<'a>(Vec<&'a Report>);

fn by_lease(reports: &[Report]) -> ByLease<'_> {
    let mut all = ByLease::new();
    for report in reports {
        all.entry(&report.lease).or_default().0.push(report);
    }
    all
}

/// Of several leases of one job only the one that holds: a statement writes a row once.
async fn with_one_lease_of_a_job<'a>(
    session: &Session<'_>,
    all: &ByLease<'a>,
) -> Outcome<ByLease<'a>> {
    let jobs: HashSet<JobId> = all.keys().map(|lease| lease.id).collect();
    if jobs.len() == all.len() {
        return Ok(all.clone());
    }
    let change = Change::read(session, jobs.into_iter().map(job_uuid).collect()).await?;
    let holds =
        |lease: &LeaseToken| change.record(lease.id).is_some_and(|record| record.is_held_by(lease));
    let held = all.iter().filter(|(lease, _)| holds(lease));
    Ok(held.map(|(lease, reports)| (*lease, reports.clone())).collect())
}

/// The jobs whose reports were stored.
async fn store(session: &Session<'_>, tried: &ByLease<'_>) -> Outcome<HashSet<JobId>> {
    let (leases, reports): (Vec<&LeaseToken>, Vec<&Reports<'_>>) =
        tried.iter().map(|(lease, reports)| (*lease, reports)).unzip();
    let ids: Vec<Uuid> = leases.iter().map(|lease| job_uuid(lease.id)).collect();
    let seqs: Vec<i64> = leases.iter().map(|lease| lease.lease_seq.cast_signed()).collect();
    let nonces: Vec<Uuid> = leases.iter().map(|lease| nonce_uuid(lease.nonce)).collect();
    let queues: Vec<&str> = once(leases.iter().map(|lease| lease.queue.as_str()).collect());
    let progress = || reports.iter().map(|reports| reports.progress());
    let fractions: Vec<_> = progress().map(|its| its.map(|its| its.fraction)).collect();
    let messages: Vec<_> = progress().map(|its| its.map(|its| its.message.as_str())).collect();
    let lines: Vec<String> = reports.iter().map(|reports| reports.lines()).collect();
    let kept = LOG_LINES_KEPT as i32;
    let params = params![ids, seqs, nonces, fractions, messages, lines, kept, queues];
    let rows = session.write(Sql::Report, params).await?;
    rows.iter().map(|row| Ok(job_id(row.try_get("job")?))).collect()
}

impl Reports<'_> {
    fn progress(&self) -> Option<&Progress> {
        self.0.iter().rev().find_map(|report| report.progress.as_ref())
    }

    /// The lines that the log keeps, as JSON.
    fn lines(&self) -> String {
        let all = || self.0.iter().flat_map(|report| &report.lines);
        let spare = all().count().saturating_sub(LOG_LINES_KEPT);
        let line = |line: &String| LogLine::new(Timestamp::default(), line).text;
        let lines: Vec<String> = all().skip(spare).map(line).collect();
        // Texts only, so serialization cannot fail.
        serde_json::to_string(&lines).unwrap_or_default()
    }
}
