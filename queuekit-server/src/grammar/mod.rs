//! What people write, on the command line and in the dashboard: durations, times and filters.

mod duration;
pub(crate) mod filter;

pub(crate) use duration::{Instant, OrNone, Since, Span};
