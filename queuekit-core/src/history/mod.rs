//! How things were an hour ago (contract R8.5).

mod histogram;
mod query;
mod rates;
mod resolution;
mod runs;

pub use histogram::{BUCKETS, Histogram};
pub use query::{HistoryPlace, HistoryQuery, RunsRow, TotalsRow};
pub use rates::{Rate, rates};
pub use resolution::Resolution;
pub use runs::{RUN_NUMBERS, Runs, RunsAdded, checked_runs};
