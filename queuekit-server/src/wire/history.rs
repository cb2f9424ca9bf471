//! Which rows of history are asked for, and rows in answers.

use queuekit::QueueName;
use queuekit::queues::Totals;
use queuekit::store::history::{Histogram, Runs, RunsRow, TotalsRow};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Time;

/// Which rows.
#[derive(Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct HistoryParams {
    /// Only rows of this queue.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    pub(crate) queue: Option<String>,
    /// Only runs of this kind; totals have no kind.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    pub(crate) kind: Option<String>,
    /// Rows that begin at this time or later; an hour ago if left out.
    #[param(value_type = Option<String>, format = DateTime)]
    pub(crate) from: Option<Time>,
    /// Rows that begin before this time; now if left out.
    #[param(value_type = Option<String>, format = DateTime)]
    pub(crate) to: Option<Time>,
    /// The time that a row covers: `1m`, `10m` or `1h`; if left out, the shortest that is still
    /// kept for `from`.
    #[param(pattern = "^(1m|10m|1h)$")]
    pub(crate) step: Option<String>,
}

/// How things were, by time.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = History)]
pub(crate) struct HistoryBody {
    /// The time that a row covers: `1m`, `10m` or `1h`.
    pub(crate) step: String,
    pub(crate) totals: Vec<TotalsRowBody>,
    pub(crate) runs: Vec<RunsRowBody>,
    /// Ask again with this as `from` for the rows that follow; missing if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<Time>,
}

/// The totals of a queue, as they were once.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = HistoryTotals)]
pub(crate) struct TotalsRowBody {
    pub(crate) queue: String,
    /// The beginning of the time that the row stands for.
    pub(crate) at: Time,
    /// When the totals were read: a rate is a difference of totals over the difference of this.
    pub(crate) read_at: Time,
    /// Jobs that were enqueued.
    pub(crate) enqueued: u64,
    pub(crate) completed: u64,
    /// Attempts that failed.
    pub(crate) failed: u64,
    pub(crate) dead: u64,
    pub(crate) cancelled: u64,
}

impl TotalsRowBody {
    /// The row of core; none if a newer server names a queue in a way that is not known here.
    pub(crate) fn row(&self) -> Option<TotalsRow> {
        let &Self { enqueued, completed, failed, dead, cancelled, .. } = self;
        let totals = Totals { enqueued, completed, failed, dead, cancelled };
        let queue = QueueName::new(&self.queue).ok()?;
        Some(TotalsRow { queue, at: self.at.0, read_at: self.read_at.0, totals })
    }
}

/// The totals of two queues, or times, together.
pub(crate) fn sum_of(a: Totals, b: Totals) -> Totals {
    let (mut sums, b) = (a.numbers(), b.numbers());
    sums.iter_mut().zip(b).for_each(|(sum, number)| *sum = sum.saturating_add(number));
    Totals::from_numbers(&sums).unwrap_or(a)
}

/// The runs of a queue and kind that workers reported in the time of a row.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = HistoryRuns)]
pub(crate) struct RunsRowBody {
    pub(crate) queue: String,
    /// Missing for all kinds that have no histograms of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<String>,
    pub(crate) at: Time,
    pub(crate) completed: u64,
    /// Runs that failed, and whose job is retried.
    pub(crate) failed: u64,
    pub(crate) dead: u64,
    pub(crate) released: u64,
    pub(crate) cancelled: u64,
    /// Runs whose lease no longer held.
    pub(crate) lost: u64,
    /// How many runs waited from due to leased for less than 1 ms, 2 ms, 4 ms and so on; the last
    /// number has all others.
    #[schema(min_items = 24, max_items = 24)]
    pub(crate) wait: [u64; 24],
    /// How many took this long, likewise.
    #[schema(min_items = 24, max_items = 24)]
    pub(crate) run: [u64; 24],
}

impl TotalsRowBody {
    pub(crate) fn of(row: &TotalsRow) -> Self {
        let TotalsRow { queue, at, read_at, totals } = row;
        Self {
            queue: queue.to_string(),
            at: Time(*at),
            read_at: Time(*read_at),
            enqueued: totals.enqueued,
            completed: totals.completed,
            failed: totals.failed,
            dead: totals.dead,
            cancelled: totals.cancelled,
        }
    }
}

impl RunsRowBody {
    pub(crate) fn of(row: &RunsRow) -> Self {
        let RunsRow { queue, kind, at, runs } = row;
        Self {
            queue: queue.to_string(),
            kind: kind.as_ref().map(ToString::to_string),
            at: Time(*at),
            completed: runs.completed,
            failed: runs.failed,
            dead: runs.dead,
            released: runs.released,
            cancelled: runs.cancelled,
            lost: runs.lost,
            wait: *runs.wait.buckets(),
            run: *runs.run.buckets(),
        }
    }

    /// The runs of the row.
    pub(crate) fn runs(&self) -> Runs {
        Runs {
            completed: self.completed,
            failed: self.failed,
            dead: self.dead,
            released: self.released,
            cancelled: self.cancelled,
            lost: self.lost,
            wait: Histogram::of(self.wait),
            run: Histogram::of(self.run),
        }
    }
}
