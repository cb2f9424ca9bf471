//! What cases of history ask for.

use queuekit_core::Timestamp;
use queuekit_core::history::{HistoryQuery, Resolution, Runs, RunsAdded, RunsRow, TotalsRow};

use super::{HOUR, default_queue, kind};
use crate::World;

/// Every row of this resolution.
pub fn all_times(resolution: Resolution) -> HistoryQuery {
    let (from, to) = (Timestamp::from_millis(0), Timestamp::from_millis(i64::MAX));
    HistoryQuery::new(resolution, from, to)
}

/// One run that completed its job.
pub fn a_run() -> RunsAdded {
    let runs = Runs { completed: 1, ..Runs::default() };
    RunsAdded { queue: default_queue(), kind: Some(kind("work")), runs }
}

impl<'w> dyn World + 'w {
    /// Moves the clock to the next full hour, or just after it; answers that hour.
    pub async fn on_the_hour(&self) -> Timestamp {
        let now = self.store_now().await;
        let next = Resolution::Hour.start_of(now) + HOUR;
        self.advance(next.since(now)).await;
        next
    }

    /// Records the totals of this minute; false if it is recorded.
    pub async fn record(&self) -> bool {
        self.history().record_totals().await.expect("record_totals")
    }

    /// The totals of the queue `default`.
    pub async fn totals(&self, resolution: Resolution) -> Vec<TotalsRow> {
        let query = all_times(resolution).queue(default_queue());
        self.history().list_totals(&query).await.expect("list_totals")
    }

    /// The runs of all queues.
    pub async fn runs(&self, resolution: Resolution) -> Vec<RunsRow> {
        self.history().list_runs(&all_times(resolution)).await.expect("list_runs")
    }

    /// Adds runs.
    pub async fn add_runs(&self, runs: &[RunsAdded]) {
        self.history().add_runs(runs).await.expect("add_runs");
    }

    /// Prunes until there is nothing to prune.
    pub async fn prune_all(&self) {
        while self.prune().await > 0 {}
    }
}
