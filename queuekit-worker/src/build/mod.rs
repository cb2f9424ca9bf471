//! Describing a worker, starting it and ending it.

mod consume;
mod handlers;
mod middleware_builder;
pub(crate) mod running;
#[cfg(feature = "signal")]
mod signal;
mod start;
pub(crate) mod worker;
