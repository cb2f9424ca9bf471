//! Orders to a worker, which it obeys at its next beat.

use std::num::NonZeroU32;

use crate::wire::ControlBody;

/// An order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Quiet,
    Resume,
    Stop,
    Slots(NonZeroU32),
}

impl Order {
    pub(super) fn request(self, worker: &str) -> ControlBody {
        let (order, slots) = match self {
            Self::Quiet => (Some("quiet"), None),
            Self::Resume => (Some("resume"), None),
            Self::Stop => (Some("stop"), None),
            Self::Slots(slots) => (None, Some(slots.get())),
        };
        let order = order.map(str::to_owned);
        ControlBody { workers: vec![worker.to_owned()], order, slots, ..ControlBody::default() }
    }

    /// `quieting worker mailer-1`
    pub(super) fn doing(self, worker: &str) -> String {
        match self {
            Self::Quiet => format!("quieting worker {worker}"),
            Self::Resume => format!("resuming worker {worker}"),
            Self::Stop => format!("stopping worker {worker}"),
            Self::Slots(slots) => format!("limiting worker {worker} to {slots} slots"),
        }
    }
}
