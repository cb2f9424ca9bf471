//! The code that runs jobs: handlers by kind, and the code around them.

pub(crate) mod batch;
pub(crate) mod collector;
pub(crate) mod erased;
pub(crate) mod execute;
#[expect(clippy::module_inception, reason = "the trait itself, beside its parts")]
pub(crate) mod handler;
pub(crate) mod hooks;
pub(crate) mod kinds;
pub(crate) mod middleware;
mod result;
pub(crate) mod start;
#[cfg(feature = "tower")]
pub(crate) mod tower;
