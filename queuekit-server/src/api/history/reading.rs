//! Pages of history, read in whole times.

use queuekit::store::Timestamp;
use queuekit::store::capability::History;
use queuekit::store::history::{HistoryPlace, HistoryQuery, Resolution, RunsRow, TotalsRow};

use crate::web::{Caller, Problem};

/// An answer has about this many totals, and as many runs: it ends with all rows of its last time.
const ROWS: usize = 2000;
/// It also ends with the time in which this many pages have been read, of which a restricted key
/// may see few rows.
pub(super) const PAGES: usize = 20;
/// The rows of a key that names up to this many queues are read by queue.
const QUEUES: usize = 100;

/// Reads rows up to a time, which moves back where there are too many.
pub(super) struct Reading<'a> {
    history: &'a dyn History,
    caller: &'a Caller,
    queries: Vec<HistoryQuery>,
    pub(super) to: Timestamp,
}

impl<'a> Reading<'a> {
    pub(super) fn new(history: &'a dyn History, caller: &'a Caller, query: &HistoryQuery) -> Self {
        Self { history, caller, queries: queries(caller, query), to: query.to }
    }

    /// The wanted rows of whole times, in order. Each page after the first counts towards the key's
    /// `per_second`.
    pub(super) async fn rows<R: Row>(
        &mut self,
        is_wanted: impl Fn(&R) -> bool,
    ) -> Result<Vec<R>, Problem> {
        let (mut rows, mut pages) = (Vec::new(), 0);
        for query in self.queries.clone() {
            let (mut query, mut pages_of_query) = (query, 0);
            while query.begins() < self.to {
                query.to = self.to;
                let page = R::list(self.history, &query).await?;
                self.caller.owe(usize::from(pages > 0));
                (pages, pages_of_query) = (pages + 1, pages_of_query + 1);
                query.after = page.last().map(R::place).filter(|_| page.len() == query.limit.get());
                rows.extend(page.into_iter().filter(&is_wanted));
                self.cut(&mut rows, query.resolution);
                let Some(after) = &query.after else { break };
                if pages_of_query >= PAGES {
                    self.to = self.to.min(after.at + query.resolution.length());
                }
            }
        }
        // The time may have moved back since these rows were read.
        rows.retain(|row| row.place().at < self.to);
        rows.sort_by_cached_key(R::place);
        Ok(rows)
    }

    /// Leaves out later times if there are too many rows.
    fn cut<R: Row>(&mut self, rows: &mut Vec<R>, resolution: Resolution) {
        if rows.len() < ROWS {
            return;
        }
        rows.sort_by_cached_key(R::place);
        self.to = self.to.min(rows[ROWS - 1].place().at + resolution.length());
        rows.retain(|row| row.place().at < self.to);
    }
}

/// A row of either kind.
pub(super) trait Row: Sized {
    async fn list(history: &dyn History, query: &HistoryQuery) -> queuekit::Result<Vec<Self>>;

    fn place(&self) -> HistoryPlace;
}

impl Row for TotalsRow {
    async fn list(history: &dyn History, query: &HistoryQuery) -> queuekit::Result<Vec<Self>> {
        history.list_totals(query).await
    }

    fn place(&self) -> HistoryPlace {
        self.place()
    }
}

impl Row for RunsRow {
    async fn list(history: &dyn History, query: &HistoryQuery) -> queuekit::Result<Vec<Self>> {
        history.list_runs(query).await
    }

    fn place(&self) -> HistoryPlace {
        self.place()
    }
}

/// One query, or one for each queue of a key that names few, so that the store does not read the
/// rows of all others.
fn queries(caller: &Caller, query: &HistoryQuery) -> Vec<HistoryQuery> {
    match caller.named_queues() {
        Some(queues) if query.queue.is_none() && queues.len() <= QUEUES => {
            queues.into_iter().map(|queue| query.clone().queue(queue)).collect()
        }
        _ => vec![query.clone()],
    }
}
