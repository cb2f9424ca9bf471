//! History (contract R8.5).

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::tables::Tables;
use super::{MemoryStore, Operation};
use crate::capability::History;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::history::{
    HistoryPlace, HistoryQuery, Resolution, Runs, RunsAdded, RunsRow, TotalsRow, checked_runs,
};
use crate::queue::Totals;

#[async_trait]
impl History for MemoryStore {
    async fn record_totals(&self) -> Result<bool> {
        self.step(Operation::RecordTotals, |tables| Ok(tables.record_totals()))
    }

    async fn add_runs(&self, runs: &[RunsAdded]) -> Result<()> {
        let runs = checked_runs(runs).map_err(|error| error.during("add_runs"))?;
        if runs.is_empty() {
            return Ok(());
        }
        let most = self.shared.limits.history_pairs();
        self.step(Operation::AddRuns, |tables| {
            let now = tables.now;
            runs.into_iter().for_each(|added| tables.history.add_runs(added, now, most));
            Ok(())
        })
    }

    async fn list_totals(&self, query: &HistoryQuery) -> Result<Vec<TotalsRow>> {
        self.step(Operation::ListTotals, |tables| {
            let row = |(place, (read_at, totals)): (&HistoryPlace, &(Timestamp, Totals))| {
                let (queue, at) = (place.queue.clone(), place.at);
                TotalsRow { queue, at, read_at: *read_at, totals: *totals }
            };
            Ok(rows(&tables.history.totals, query).map(row).collect())
        })
    }

    async fn list_runs(&self, query: &HistoryQuery) -> Result<Vec<RunsRow>> {
        self.step(Operation::ListRuns, |tables| {
            let row = |(place, runs): (&HistoryPlace, &Runs)| {
                let HistoryPlace { at, queue, kind } = place.clone();
                RunsRow { queue, kind, at, runs: *runs }
            };
            Ok(rows(&tables.history.runs, query).map(row).collect())
        })
    }
}

/// The rows that a query lists.
fn rows<'a, T>(
    rows: &'a BTreeMap<(Resolution, HistoryPlace), T>,
    query: &'a HistoryQuery,
) -> impl Iterator<Item = (&'a HistoryPlace, &'a T)> {
    let rows = rows
        .iter()
        .filter(|((resolution, place), _)| *resolution == query.resolution && query.admits(place));
    rows.map(|((_, place), row)| (place, row)).take(query.limit.get())
}

impl Tables {
    fn record_totals(&mut self) -> bool {
        let now = self.now;
        let minute = Resolution::Minute.start_of(now);
        if self.history.minute >= Some(minute) {
            return false;
        }
        self.history.minute = Some(minute);
        for (queue, table) in &mut self.queues {
            let totals = table.totals();
            if table.recorded == totals {
                continue;
            }
            table.recorded = totals;
            for &resolution in Resolution::ALL {
                let at = resolution.start_of(now);
                let place = HistoryPlace { at, queue: queue.clone(), kind: None };
                self.history.totals.entry((resolution, place)).or_insert((now, totals));
            }
        }
        true
    }
}
