//! Rows of history (contract R8.5).

use queuekit_core::history::{HistoryQuery, Resolution, Runs, RunsAdded, RunsRow, TotalsRow};
use queuekit_core::queue::Totals;
use queuekit_core::{Kind, QueueName, Result, Timestamp};
use rusqlite::{Row, params};

use super::Step;
use crate::column_names::columns;
use crate::row::unsigned;
use crate::statements::*;

columns! {
    struct ChangedColumns { id, name, enqueued, completed, failed, dead, cancelled }
    struct TotalsColumns { at, queue, read_at, enqueued, completed, failed, dead, cancelled }
    struct RunsColumns { at, queue, kind, numbers }
}

/// The id and name of a queue, and its totals in the order of `Totals::numbers`.
type Changed = (i64, String, [i64; 5]);

impl Step<'_> {
    /// Whether the present minute is recorded.
    pub(crate) fn is_recorded(&self) -> Result<bool> {
        let minute = Resolution::Minute.start_of(self.now).as_millis();
        self.is_there(HISTORY_IS_RECORDED, [minute])
    }

    pub(crate) fn has_changed_totals(&self) -> Result<bool> {
        self.is_there(HISTORY_CHANGED, [])
    }

    pub(crate) fn record_totals(&self) -> Result<bool> {
        // Guard: another process may have recorded this minute before this one got the lock.
        if self.is_recorded()? {
            return Ok(false);
        }
        let changed = self.rows(HISTORY_CHANGED, [], |row, at: &ChangedColumns| {
            let totals = [at.enqueued, at.completed, at.failed, at.dead, at.cancelled];
            Ok::<Changed, _>((row.get(at.id)?, row.get(at.name)?, numbers(row, totals)?))
        })?;
        for (id, name, [enqueued, completed, failed, dead, cancelled]) in changed {
            let last = params![id, enqueued, completed, failed, dead, cancelled];
            self.execute(HISTORY_RECORDED_PUT, last)?;
            for resolution in Resolution::ALL {
                let at = resolution.start_of(self.now).as_millis();
                let row = params![
                    resolution.number(),
                    at,
                    name,
                    self.now.as_millis(),
                    enqueued,
                    completed,
                    failed,
                    dead,
                    cancelled,
                ];
                self.execute(HISTORY_TOTALS_INSERT, row)?;
            }
        }
        Ok(true)
    }

    pub(crate) fn add_runs(&self, added: &[RunsAdded]) -> Result<()> {
        for RunsAdded { queue, kind, runs } in added {
            let kind = self.kept_apart(queue, kind.as_ref())?;
            for resolution in Resolution::ALL {
                let at = resolution.start_of(self.now).as_millis();
                let place = params![resolution.number(), at, queue.as_str(), kind];
                let stored: Option<String> = self.value(HISTORY_RUN, place)?;
                let mut sum = stored.and_then(|text| Runs::from_text(&text)).unwrap_or_default();
                sum.merge(runs);
                let row = params![resolution.number(), at, queue.as_str(), kind, sum.to_text()];
                self.execute(HISTORY_RUN_PUT, row)?;
            }
        }
        Ok(())
    }

    /// The kind whose row these runs go to: empty if they are not kept apart.
    fn kept_apart<'k>(&self, queue: &QueueName, kind: Option<&'k Kind>) -> Result<&'k str> {
        let Some(kind) = kind else { return Ok("") };
        let most = self.limits.history_pairs();
        let pair = params![queue.as_str(), kind.as_str(), self.now.as_millis(), most];
        let is_apart = self.execute(HISTORY_PAIR_SEEN, pair)? > 0;
        Ok(if is_apart { kind.as_str() } else { "" })
    }

    pub(crate) fn list_totals(&self, query: &HistoryQuery) -> Result<Vec<TotalsRow>> {
        let (resolution, limit) = (query.resolution.number(), query.limit.get());
        let (from, to) = (query.begins().as_millis(), query.to.as_millis());
        let (after, of) = query
            .after
            .as_ref()
            .map_or((i64::MIN, ""), |after| (after.at.as_millis(), after.queue.as_str()));
        let rows = match &query.queue {
            None => {
                let place = params![resolution, from, to, after, of, limit];
                self.rows(HISTORY_TOTALS, place, totals_row)?
            }
            Some(queue) => {
                let from =
                    query.after.as_ref().map_or(from, |after| from.max(after.at.as_millis() + 1));
                let place = params![queue.as_str(), resolution, from, to, limit];
                self.rows(HISTORY_TOTALS_OF_QUEUE, place, totals_row)?
            }
        };
        Ok(rows.into_iter().flatten().collect())
    }

    pub(crate) fn list_runs(&self, query: &HistoryQuery) -> Result<Vec<RunsRow>> {
        let (resolution, limit) = (query.resolution.number(), query.limit.get());
        let (from, to) = (query.begins().as_millis(), query.to.as_millis());
        let (after, of, kind) = query.after.as_ref().map_or((i64::MIN, "", ""), |after| {
            (after.at.as_millis(), after.queue.as_str(), after.kind_text())
        });
        let rows = match &query.queue {
            None => {
                let place = params![resolution, from, to, after, of, kind, limit];
                self.rows(HISTORY_RUNS, place, runs_row)?
            }
            Some(queue) => {
                let place = params![queue.as_str(), resolution, from, to, after, kind, limit];
                self.rows(HISTORY_RUNS_OF_QUEUE, place, runs_row)?
            }
        };
        Ok(rows.into_iter().flatten().collect())
    }

    /// Removes what is too old, up to this many rows of each resolution. Returns how many were
    /// removed, and whether there may be more.
    pub(crate) fn forget_history(&self, most: usize) -> Result<(u64, bool)> {
        let (mut removed, mut more) = (0, false);
        for resolution in Resolution::ALL {
            let oldest = resolution.oldest(self.now).as_millis();
            for sql in [HISTORY_TOTALS_FORGET, HISTORY_RUNS_FORGET] {
                let rows = self.execute(sql, params![resolution.number(), oldest, most])?;
                removed += rows as u64;
                more |= rows == most;
            }
        }
        let oldest = Resolution::Hour.oldest(self.now).as_millis();
        removed += self.execute(HISTORY_PAIRS_FORGET, [oldest])? as u64;
        Ok((removed, more))
    }
}

fn numbers(row: &Row<'_>, columns: [usize; 5]) -> rusqlite::Result<[i64; 5]> {
    let mut numbers = [0; 5];
    for (number, column) in numbers.iter_mut().zip(columns) {
        *number = row.get(column)?;
    }
    Ok(numbers)
}

/// Reads a row; none if its queue cannot be read.
fn totals_row(row: &Row<'_>, at: &TotalsColumns) -> rusqlite::Result<Option<TotalsRow>> {
    let queue = QueueName::new(row.get_ref(at.queue)?.as_str()?).ok();
    let time = |at| row.get(at).map(Timestamp::from_millis);
    let columns = [at.enqueued, at.completed, at.failed, at.dead, at.cancelled];
    let totals = Totals::from_numbers(&numbers(row, columns)?.map(unsigned));
    let (at, read_at) = (time(at.at)?, time(at.read_at)?);
    let of = queue.zip(totals);
    Ok(of.map(|(queue, totals)| TotalsRow { queue, at, read_at, totals }))
}

/// Reads a row; none if it cannot be read.
fn runs_row(row: &Row<'_>, at: &RunsColumns) -> rusqlite::Result<Option<RunsRow>> {
    let queue = QueueName::new(row.get_ref(at.queue)?.as_str()?).ok();
    let kind = row.get_ref(at.kind)?.as_str()?;
    let kind = if kind.is_empty() { Some(None) } else { Kind::new(kind).ok().map(Some) };
    let runs = Runs::from_text(row.get_ref(at.numbers)?.as_str()?);
    let at = Timestamp::from_millis(row.get(at.at)?);
    let (Some(queue), Some(kind), Some(runs)) = (queue, kind, runs) else {
        return Ok(None);
    };
    Ok(Some(RunsRow { queue, kind, at, runs }))
}
