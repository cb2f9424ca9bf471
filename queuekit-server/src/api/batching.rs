//! Reads many jobs, events or schedules in parts, because each may have a mebibyte: an answer ends
//! when it is long enough or large enough.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Size of the first part, which shows how large the items are.
const FIRST: usize = 8;
/// The same if the items before were small; this many may turn out to be large.
const FIRST_OF_SMALL: usize = 128;
/// An answer ends with the part that reaches this size.
const BYTES: usize = 8 * 1024 * 1024;
/// The smallest budget in which a part is read.
const SMALL: usize = 64 * 1024;
/// The budget of an answer: for the items that are read, and for their JSON.
pub(super) const BUDGET_BYTES: usize = 2 * BYTES;

/// How much has been read, and how much is wanted.
#[derive(Clone, Copy)]
pub(super) struct BatchSizer {
    wanted: usize,
    first: usize,
    items: usize,
    bytes: usize,
    /// Items and bytes of all that was read, including what the caller may not see.
    read: (usize, usize),
}

/// The size of the largest job read lately. If all are small, one part is enough, and the store is
/// called once.
pub(super) struct RecentSizes(AtomicUsize);

impl RecentSizes {
    pub(super) fn unknown() -> Self {
        Self(AtomicUsize::new(BYTES))
    }

    /// Memory for the next part of this many jobs, as the jobs before suggest.
    pub(super) fn budget(&self, part: usize) -> usize {
        let largest = self.0.load(Ordering::Relaxed);
        (2 * part * largest).clamp(SMALL, BUDGET_BYTES)
    }

    pub(super) fn sizer(&self, wanted: usize) -> BatchSizer {
        let largest = self.0.load(Ordering::Relaxed).max(1);
        BatchSizer {
            first: (BYTES / largest).clamp(FIRST, FIRST_OF_SMALL),
            ..BatchSizer::new(wanted)
        }
    }

    /// Notes the sizes of jobs that were read. Large ones are forgotten gradually.
    pub(super) fn saw(&self, sizes: impl IntoIterator<Item = usize>) {
        let Some(largest) = sizes.into_iter().max() else { return };
        let before = self.0.load(Ordering::Relaxed);
        // If two threads store at once, either value is recent enough.
        self.0.store(largest.max(before - before / 8), Ordering::Relaxed);
    }
}

impl BatchSizer {
    pub(super) fn new(wanted: usize) -> Self {
        Self { wanted, first: FIRST, items: 0, bytes: 0, read: (0, 0) }
    }

    /// How many to read next, as the sizes before suggest; at least one.
    pub(super) fn part(&self) -> usize {
        let left = self.wanted.saturating_sub(self.items);
        let (items, bytes) = self.read;
        if items == 0 {
            return left.min(self.first);
        }
        let mean = bytes / items + 1;
        left.min(BYTES.saturating_sub(self.bytes) / mean).max(1)
    }

    /// Notes the sizes of items that were read; whether that is enough.
    pub(super) fn took(&mut self, sizes: impl IntoIterator<Item = usize>) -> bool {
        for size in sizes {
            self.items += 1;
            self.bytes += size;
            self.passed(size);
        }
        self.items >= self.wanted || self.is_large()
    }

    /// Notes an item that was read and is left out.
    pub(super) fn passed(&mut self, size: usize) {
        self.read = (self.read.0 + 1, self.read.1 + size);
    }

    /// Whether the answer is large enough to end.
    pub(super) fn is_large(&self) -> bool {
        self.bytes >= BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_small_items_are_read_in_two_parts_and_large_ones_until_it_is_enough() {
        let mut small = BatchSizer::new(1000);
        assert!(!small.took([100; FIRST]));
        assert_eq!(small.part(), 1000 - FIRST);
        assert!(small.took([100; 1000 - FIRST]));
        let mut large = BatchSizer::new(1000);
        assert!(!large.took([BYTES / 9; FIRST]));
        assert_eq!(large.part(), 1);
        assert!(large.took([BYTES]));
    }

    #[test]
    fn s6_where_all_were_small_one_part_will_do_until_a_large_one_is_seen() {
        let lately = RecentSizes::unknown();
        assert_eq!(lately.sizer(1000).part(), FIRST);
        for _ in 0..40 {
            lately.saw([10, 1000]);
        }
        assert_eq!(lately.sizer(100).part(), 100);
        assert_eq!(lately.sizer(1000).part(), FIRST_OF_SMALL);
        lately.saw([]);
        assert_eq!(lately.sizer(100).part(), 100);
        lately.saw([10, BYTES / 8]);
        assert_eq!(lately.sizer(100).part(), FIRST);
    }
}
