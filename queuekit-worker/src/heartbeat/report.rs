//! Tells the store what runs report, twice a second.

use std::sync::Arc;
use std::time::Duration;

use queuekit_core::capability::{Report, ReportOutcome};
use tokio::time::{MissedTickBehavior, interval};

use super::beat_every;
use crate::run::run::Run;
use crate::state::run_events::lose;
use crate::state::shared::Shared;

const EVERY: Duration = Duration::from_millis(500);
/// Most reports told in one call.
const MOST: usize = 1000;

pub(super) async fn report(shared: &Arc<Shared>) {
    let mut ticks = interval(EVERY.min(beat_every(shared.settings.ttl.get())));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if shared.context.take_report_soon() {
            let said = said(shared);
            for told in said.chunks(MOST) {
                tell(shared, told).await;
            }
        }
    }
}

/// What the runs whose handlers are at work have said; of the others the pump takes care.
fn said(shared: &Shared) -> Vec<(Arc<Run>, Report)> {
    let runs = shared.registry.lock();
    let talking = runs.iter().filter(|entry| {
        !entry.returned && !entry.run.reports.is_clean() && !entry.run.is_abandoned()
    });
    let said = talking.filter_map(|entry| {
        let report = entry.run.reports.take(&entry.run.lease.token)?;
        Some((Arc::clone(&entry.run), report))
    });
    said.collect()
}

async fn tell(shared: &Shared, told: &[(Arc<Run>, Report)]) {
    let Some(leases) = shared.leases() else {
        return;
    };
    let reports: Vec<_> = told.iter().map(|(_, report)| report.clone()).collect();
    let outcomes = match leases.report(&reports).await {
        Ok(outcomes) => outcomes,
        Err(error) => {
            shared.store_error(&error);
            // Each run gets its report back, so that the next round sends it.
            told.iter().for_each(|(run, report)| run.reports.sent(Some(report.clone())));
            shared.context.report_soon();
            return shared.inbox().nudge();
        }
    };
    for (at, (run, _)) in told.iter().enumerate() {
        run.reports.sent(None);
        if let Some(ReportOutcome::LeaseLost | ReportOutcome::NotFound) = outcomes.get(at) {
            lose(shared, run);
        }
    }
    // Outcomes wait for the reports of their runs.
    shared.inbox().nudge();
}
