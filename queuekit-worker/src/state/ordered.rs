//! What the worker was ordered to do.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use queuekit_core::capability::Orders;

/// The orders that the worker has obeyed (contract R3.9).
pub(crate) struct Ordered {
    /// The slots it began with.
    most: usize,
    slots: AtomicUsize,
    quiet: AtomicBool,
    /// The number of the last order.
    obeyed: AtomicU64,
}

impl Ordered {
    pub(crate) fn new(slots: usize) -> Self {
        Self {
            most: slots,
            slots: AtomicUsize::new(slots),
            quiet: AtomicBool::new(false),
            obeyed: AtomicU64::new(0),
        }
    }

    /// How many jobs it may run at once.
    pub(crate) fn slots(&self) -> usize {
        self.slots.load(Ordering::Acquire)
    }

    /// Whether it is to reserve no more jobs.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet.load(Ordering::Acquire)
    }

    pub(crate) fn obeyed(&self) -> u64 {
        self.obeyed.load(Ordering::Acquire)
    }

    /// Whether there is an order that it has not obeyed.
    pub(crate) fn is_new(&self, orders: &Orders) -> bool {
        orders.seq > self.obeyed() && !orders.is_empty()
    }

    /// Reserves jobs, or no more.
    pub(crate) fn set_quiet(&self, quiet: bool) {
        self.quiet.store(quiet, Ordering::Release);
    }

    /// Runs at most this number of jobs at once, and no more than it began with.
    pub(crate) fn set_slots(&self, slots: NonZeroU32) {
        let slots = usize::try_from(slots.get()).unwrap_or(usize::MAX);
        self.slots.store(slots.min(self.most), Ordering::Release);
    }

    /// All orders up to this one are obeyed.
    pub(crate) fn set_obeyed(&self, seq: u64) {
        self.obeyed.store(seq, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use queuekit_core::capability::WorkerOrder;

    use super::*;

    #[test]
    fn r3_9_slots_are_between_one_and_what_the_worker_began_with() {
        let ordered = Ordered::new(8);
        for (slots, allowed) in [(1, 1), (7, 7), (8, 8), (9, 8), (u32::MAX, 8)] {
            ordered.set_slots(NonZeroU32::new(slots).unwrap());
            assert_eq!(ordered.slots(), allowed, "{slots}");
        }
    }

    #[test]
    fn r3_9_an_order_is_new_until_it_is_obeyed() {
        let (ordered, orders) = (Ordered::new(1), Orders::of_new(4).with(WorkerOrder::Quiet));
        assert!(ordered.is_new(&orders));
        ordered.set_obeyed(orders.seq);
        assert!(!ordered.is_new(&orders));
        assert!(!ordered.is_new(&Orders::of_new(9)), "there is nothing to obey");
    }
}
