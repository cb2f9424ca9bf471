//! Orders to workers (contract R3.9).

use std::fmt::Debug;
use std::num::NonZeroU32;

use async_trait::async_trait;

use crate::enum_words::words;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{ORDER_SEQ, ORDERED_WORKERS};
use crate::names::WorkerId;

/// Gives orders to workers. Each is the answer to the next beat of its worker
/// ([`Leases::beat`](super::Leases::beat)), and no lease depends on it.
///
/// ```
/// use queuekit_core::capability::{Beat, Served, WorkerOrder};
/// use queuekit_core::memory::MemoryStore;
/// use queuekit_core::{Backend, LeaseTtl, WorkerId};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit_core::Result<()> {
/// let store = MemoryStore::new();
/// let leases = store.capabilities().leases.expect("this store has it");
/// let id = WorkerId::new("mailer-1")?;
/// let beat = Beat::new(id.clone(), Served::first([]), Served::first([]), LeaseTtl::default());
/// leases.beat(&beat).await?;
/// let control = store.capabilities().control.expect("this store has it");
/// assert_eq!(control.control(&[id], WorkerOrder::Quiet).await?, [true]);
/// assert_eq!(leases.beat(&beat).await?.seq, 1);
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait Control: Debug + Send + Sync {
    /// Gives this order to each of these workers that is listed at this moment, and returns which
    /// were. Of two orders about the same, the last counts.
    ///
    /// # Errors
    /// `Invalid` if these are more than [`ORDERED_WORKERS`]; `Unavailable`, `Indeterminate`,
    /// `Closed`.
    async fn control(&self, workers: &[WorkerId], order: WorkerOrder) -> Result<Vec<bool>>;
}

/// An order to a worker.
// Exhaustive: a worker has to obey each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkerOrder {
    /// Reserve no more jobs. Running jobs continue.
    Quiet,
    /// Reserve jobs again.
    Resume,
    /// Drain, and end.
    Stop,
    /// Run at most this number of jobs at once; more than the worker began with counts as that.
    Slots(NonZeroU32),
}

impl WorkerOrder {
    /// The mode that it orders; none if it is about slots.
    pub const fn mode(self) -> Option<OrderedMode> {
        match self {
            Self::Quiet => Some(OrderedMode::Quiet),
            Self::Resume => Some(OrderedMode::Resume),
            Self::Stop => Some(OrderedMode::Stop),
            Self::Slots(_) => None,
        }
    }
}

impl From<OrderedMode> for WorkerOrder {
    fn from(mode: OrderedMode) -> Self {
        match mode {
            OrderedMode::Quiet => Self::Quiet,
            OrderedMode::Resume => Self::Resume,
            OrderedMode::Stop => Self::Stop,
        }
    }
}

/// What a worker was ordered to do.
// Exhaustive: a worker has to obey each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OrderedMode {
    /// Reserve no more jobs.
    Quiet,
    /// Reserve jobs again.
    Resume,
    /// Drain, and end.
    Stop,
}

words!(OrderedMode "order" { Quiet = "quiet", Resume = "resume", Stop = "stop" });

/// The orders that a worker has not obeyed yet.
// Exhaustive: a store keeps each field, and a worker obeys each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Orders {
    /// The number of the last order; 0 if there was none. A worker obeys those above the number
    /// that its last beat said.
    pub seq: u64,
    /// What to do.
    pub mode: Option<OrderedMode>,
    /// How many jobs to run at once.
    pub slots: Option<NonZeroU32>,
}

impl Orders {
    /// The orders of a worker that comes to be listed. They are numbered on from what it has
    /// obeyed, so that the next order is new to it. A number beyond [`ORDER_SEQ`] counts as that.
    pub fn of_new(obeyed: u64) -> Self {
        Self { seq: obeyed.min(ORDER_SEQ), ..Self::default() }
    }

    /// What is left when the worker has obeyed all up to this number. One beyond the last order
    /// counts as that of the last.
    #[must_use]
    pub fn after(self, obeyed: u64) -> Self {
        if obeyed >= self.seq { Self { mode: None, slots: None, ..self } } else { self }
    }

    /// The same with this order as the last.
    #[must_use]
    pub fn with(mut self, order: WorkerOrder) -> Self {
        self.seq += 1;
        match order {
            WorkerOrder::Slots(slots) => self.slots = Some(slots),
            order => self.mode = order.mode(),
        }
        self
    }

    /// Whether nothing is left to obey.
    pub fn is_empty(&self) -> bool {
        self.mode.is_none() && self.slots.is_none()
    }
}

/// Checks how many workers a call orders. For stores.
///
/// # Errors
/// `Invalid` if these are more than [`ORDERED_WORKERS`].
pub fn admit_ordered(workers: &[WorkerId]) -> Result<()> {
    if workers.len() <= ORDERED_WORKERS {
        return Ok(());
    }
    let limit = format!("at most {ORDERED_WORKERS} workers");
    let got = workers.len();
    let message = format!("workers: {got} in one call, {limit}; split the call");
    Err(Error::new(ErrorKind::Invalid { item: None, field: "workers", limit }, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r3_9_orders_are_left_until_the_last_is_obeyed() {
        let slots = NonZeroU32::new(3).unwrap();
        let given = Orders::default().with(WorkerOrder::Quiet).with(WorkerOrder::Slots(slots));
        let both = Orders { seq: 2, mode: Some(OrderedMode::Quiet), slots: Some(slots) };
        assert_eq!(given, both);
        assert_eq!(given.after(1), both, "the last may be about the same as the first");
        assert_eq!(given.after(2), Orders::of_new(2));
        assert_eq!(given.after(u64::MAX), Orders::of_new(2), "two were given");
        assert_eq!(Orders::of_new(u64::MAX).with(WorkerOrder::Stop).seq, ORDER_SEQ + 1);
        assert!(given.after(2).is_empty() && !given.is_empty());
    }
}
