//! What the binary can run without Rust of one's own.

mod echo;
mod fail;
mod sleep;

use queuekit::Worker;
use serde::Deserialize;

/// A handler that is built in, under the type of its jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BuiltIn {
    Echo,
    Sleep,
}

impl BuiltIn {
    /// Those that reach nothing outside: they run unless the configuration names others.
    pub(crate) const HARMLESS: &[Self] = &[Self::Echo, Self::Sleep];

    pub(crate) fn add_to(self, worker: Worker) -> Worker {
        match self {
            Self::Echo => worker.handle_raw("echo", echo::echo),
            Self::Sleep => worker.handle(sleep::sleep),
        }
    }
}

/// Those that fail, for `queuekit dev`.
pub(crate) fn add_demo(worker: Worker) -> Worker {
    worker.handle_raw(fail::FLAKY, fail::flaky).handle_raw(fail::FAIL, fail::fail)
}
