//! Rows of history, and which of them to list.

use super::{Resolution, Runs};
use crate::backend::PageSize;
use crate::clock::Timestamp;
use crate::names::{Kind, QueueName};
use crate::queue::Totals;

/// The totals of a queue, as they were once.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TotalsRow {
    /// The queue; it may be gone.
    pub queue: QueueName,
    /// The beginning of the time that the row stands for.
    pub at: Timestamp,
    /// When the totals were read.
    pub read_at: Timestamp,
    /// The totals.
    pub totals: Totals,
}

impl TotalsRow {
    /// Its place in a listing.
    pub fn place(&self) -> HistoryPlace {
        HistoryPlace { at: self.at, queue: self.queue.clone(), kind: None }
    }
}

/// The runs of a queue and kind whose numbers were added in the time of a row.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunsRow {
    /// The queue; it may be gone.
    pub queue: QueueName,
    /// The kind; none for all that have no histograms of their own.
    pub kind: Option<Kind>,
    /// The beginning of the time.
    pub at: Timestamp,
    /// The runs.
    pub runs: Runs,
}

impl RunsRow {
    /// Its place in a listing.
    pub fn place(&self) -> HistoryPlace {
        HistoryPlace { at: self.at, queue: self.queue.clone(), kind: self.kind.clone() }
    }
}

/// The place of a row: rows are listed by time, then queue, then kind, and none comes first.
// Exhaustive: it is what listings are ordered by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HistoryPlace {
    /// The beginning of the row.
    pub at: Timestamp,
    /// Its queue.
    pub queue: QueueName,
    /// Its kind; rows of totals have none.
    pub kind: Option<Kind>,
}

impl HistoryPlace {
    /// The kind as stores keep it: empty for none.
    pub fn kind_text(&self) -> &str {
        self.kind.as_ref().map_or("", Kind::as_str)
    }
}

/// Which rows to list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryQuery {
    /// The time that a row covers.
    pub resolution: Resolution,
    /// Rows that begin at this time or later.
    pub from: Timestamp,
    /// Rows that begin before this time.
    pub to: Timestamp,
    /// Only rows of this queue.
    pub queue: Option<QueueName>,
    /// Only rows after this place: that of the last row of the page before.
    pub after: Option<HistoryPlace>,
    /// Most rows of the answer; fewer are the last.
    pub limit: PageSize,
}

impl HistoryQuery {
    /// The first rows of all queues in this time, as many as fit on the largest page.
    pub fn new(resolution: Resolution, from: Timestamp, to: Timestamp) -> Self {
        Self { resolution, from, to, queue: None, after: None, limit: PageSize::MAX }
    }

    /// Only rows of this queue.
    #[must_use]
    pub fn queue(mut self, queue: QueueName) -> Self {
        self.queue = Some(queue);
        self
    }

    /// At most this many rows.
    #[must_use]
    pub fn limit(mut self, limit: PageSize) -> Self {
        self.limit = limit;
        self
    }

    /// The rows after this place.
    #[must_use]
    pub fn after(mut self, place: HistoryPlace) -> Self {
        self.after = Some(place);
        self
    }

    /// Whether a row at this place is listed.
    pub fn admits(&self, place: &HistoryPlace) -> bool {
        (self.from..self.to).contains(&place.at)
            && self.queue.as_ref().is_none_or(|queue| *queue == place.queue)
            && self.after.as_ref().is_none_or(|after| place > after)
    }

    /// The earliest beginning of a row that it may list.
    pub fn begins(&self) -> Timestamp {
        self.after.as_ref().map_or(self.from, |after| after.at.max(self.from))
    }
}
