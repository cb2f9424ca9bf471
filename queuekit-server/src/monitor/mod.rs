//! What this process tells about itself: its metrics, and whether its worker is well.

pub(crate) mod catalog;
pub(crate) mod exporter;
pub(crate) mod listener;
#[cfg(test)]
mod reference;
