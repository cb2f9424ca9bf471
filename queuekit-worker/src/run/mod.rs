//! One run of one job: its state, how it ended, and the part of it that a handler sees.

pub(crate) mod checkpoints;
pub(crate) mod context;
pub(crate) mod ctx;
pub(crate) mod inbox;
pub(crate) mod job_error;
pub(crate) mod meter;
pub(crate) mod options;
pub(crate) mod outcome;
pub(crate) mod phase;
pub(crate) mod reports;
pub(crate) mod result;
#[expect(clippy::module_inception, reason = "the run itself, beside its parts")]
pub(crate) mod run;
pub(crate) mod steps;
pub(crate) mod values;
