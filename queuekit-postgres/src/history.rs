//! History.

use async_trait::async_trait;
use queuekit_core::Result;
use queuekit_core::capability::History;
use queuekit_core::history::{HistoryQuery, RunsAdded, RunsRow, TotalsRow, checked_runs};

use crate::PostgresStore;
use crate::call::Call;
use crate::step;

#[async_trait]
impl History for PostgresStore {
    async fn record_totals(&self) -> Result<bool> {
        let recorded = self.call("record_totals", Call::Repeatable, (), |(), session| {
            Box::pin(step::record_totals(session))
        });
        recorded.await
    }

    async fn add_runs(&self, runs: &[RunsAdded]) -> Result<()> {
        let runs = checked_runs(runs).map_err(|error| error.during("add_runs"))?;
        if runs.is_empty() {
            return Ok(());
        }
        let input = (runs, self.shared.limits.history_pairs());
        let added = self.call("add_runs", Call::Once, input, |(runs, most), session| {
            Box::pin(step::add_runs(session, runs, *most))
        });
        added.await
    }

    async fn list_totals(&self, query: &HistoryQuery) -> Result<Vec<TotalsRow>> {
        let listed = self.call("list_totals", Call::Repeatable, query, |query, session| {
            Box::pin(step::list_totals(session, query))
        });
        listed.await
    }

    async fn list_runs(&self, query: &HistoryQuery) -> Result<Vec<RunsRow>> {
        let listed = self.call("list_runs", Call::Repeatable, query, |query, session| {
            Box::pin(step::list_runs(session, query))
        });
        listed.await
    }
}
