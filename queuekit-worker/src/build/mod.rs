//! Describing a worker, starting it and ending it.

mod around;
mod consume;
mod handlers;
pub(crate) mod running;
#[cfg(feature = "signal")]
mod signal;
mod start;
pub(crate) mod worker;
