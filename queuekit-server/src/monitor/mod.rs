//! What this process tells about itself: its metrics, its traces, and whether its worker is well.

pub(crate) mod catalog;
pub(crate) mod exporter;
pub(crate) mod listener;
#[cfg(test)]
mod reference;
pub(crate) mod traces;
