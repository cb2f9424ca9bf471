//! History.

use async_trait::async_trait;
use queuekit_core::Result;
use queuekit_core::capability::History;
use queuekit_core::history::{HistoryQuery, RunsAdded, RunsRow, TotalsRow, checked_runs};

use crate::SqliteStore;

#[async_trait]
impl History for SqliteStore {
    /// A reader looks first: where there is nothing to record, nobody needs the write lock. It asks
    /// both in one snapshot, because another process may record the minute in between.
    async fn record_totals(&self) -> Result<bool> {
        let answer = self.read("record_totals", |step| {
            Ok(match step.is_recorded()? {
                true => Some(false),
                false => (!step.has_changed_totals()?).then_some(true),
            })
        });
        match answer.await? {
            Some(recorded) => Ok(recorded),
            None => self.write("record_totals", |step| step.record_totals()).await,
        }
    }

    async fn add_runs(&self, runs: &[RunsAdded]) -> Result<()> {
        let runs = checked_runs(runs).map_err(|error| error.during("add_runs"))?;
        if runs.is_empty() {
            return Ok(());
        }
        self.write("add_runs", move |step| step.add_runs(&runs)).await
    }

    async fn list_totals(&self, query: &HistoryQuery) -> Result<Vec<TotalsRow>> {
        let query = query.clone();
        self.read("list_totals", move |step| step.list_totals(&query)).await
    }

    async fn list_runs(&self, query: &HistoryQuery) -> Result<Vec<RunsRow>> {
        let query = query.clone();
        self.read("list_runs", move |step| step.list_runs(&query)).await
    }
}
