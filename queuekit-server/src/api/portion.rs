//! Reading many jobs, events or schedules in parts, because each may have a mebibyte: an answer
//! ends when it is long enough or large enough.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What is read first, to see how large it is.
const FIRST: usize = 8;
/// Likewise where those before were small: this many may turn out to be large.
const FIRST_OF_SMALL: usize = 128;
/// An answer ends with the part in which it comes to this.
const BYTES: usize = 8 * 1024 * 1024;
/// The least room in which a part is read.
const SMALL: usize = 64 * 1024;
/// The room in which an answer is made: for what is read, and for the text of it.
pub(super) const ROOM: usize = 2 * BYTES;

/// How much has been read, and how much is to come.
#[derive(Clone, Copy)]
pub(super) struct Portion {
    wanted: usize,
    first: usize,
    items: usize,
    bytes: usize,
    /// Of all that was read, also of what is hidden from who asks.
    read: (usize, usize),
}

/// How large the largest job was that was read lately: where all are small, one part will do, and
/// a store is called once.
pub(super) struct Lately(AtomicUsize);

impl Lately {
    pub(super) fn unknown() -> Self {
        Self(AtomicUsize::new(BYTES))
    }

    /// Room for the next part of this many, as far as those before tell.
    pub(super) fn room(&self, part: usize) -> usize {
        let largest = self.0.load(Ordering::Relaxed);
        (2 * part * largest).clamp(SMALL, ROOM)
    }

    pub(super) fn portion(&self, wanted: usize) -> Portion {
        let largest = self.0.load(Ordering::Relaxed).max(1);
        Portion { first: (BYTES / largest).clamp(FIRST, FIRST_OF_SMALL), ..Portion::new(wanted) }
    }

    /// These were read. What was large before is forgotten by and by.
    pub(super) fn saw(&self, sizes: impl IntoIterator<Item = usize>) {
        let Some(largest) = sizes.into_iter().max() else { return };
        let before = self.0.load(Ordering::Relaxed);
        // Whichever of two at once is kept is true of late.
        self.0.store(largest.max(before - before / 8), Ordering::Relaxed);
    }
}

impl Portion {
    pub(super) fn new(wanted: usize) -> Self {
        Self { wanted, first: FIRST, items: 0, bytes: 0, read: (0, 0) }
    }

    /// How many to read next, as far as the size of those before tells; at least one.
    pub(super) fn part(&self) -> usize {
        let left = self.wanted.saturating_sub(self.items);
        let (items, bytes) = self.read;
        if items == 0 {
            return left.min(self.first);
        }
        let mean = bytes / items + 1;
        left.min(BYTES.saturating_sub(self.bytes) / mean).max(1)
    }

    /// These were read; whether it is enough.
    pub(super) fn took(&mut self, sizes: impl IntoIterator<Item = usize>) -> bool {
        for size in sizes {
            self.items += 1;
            self.bytes += size;
            self.passed(size);
        }
        self.items >= self.wanted || self.is_large()
    }

    /// This was read, and is left out.
    pub(super) fn passed(&mut self, size: usize) {
        self.read = (self.read.0 + 1, self.read.1 + size);
    }

    /// Whether it ends before as many were read as were wanted, or might have.
    pub(super) fn is_large(&self) -> bool {
        self.bytes >= BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_small_items_are_read_in_two_parts_and_large_ones_until_it_is_enough() {
        let mut small = Portion::new(1000);
        assert!(!small.took([100; FIRST]));
        assert_eq!(small.part(), 1000 - FIRST);
        assert!(small.took([100; 1000 - FIRST]));
        let mut large = Portion::new(1000);
        assert!(!large.took([BYTES / 9; FIRST]));
        assert_eq!(large.part(), 1);
        assert!(large.took([BYTES]));
    }

    #[test]
    fn s6_where_all_were_small_one_part_will_do_until_a_large_one_is_seen() {
        let lately = Lately::unknown();
        assert_eq!(lately.portion(1000).part(), FIRST);
        for _ in 0..40 {
            lately.saw([10, 1000]);
        }
        assert_eq!(lately.portion(100).part(), 100);
        assert_eq!(lately.portion(1000).part(), FIRST_OF_SMALL);
        lately.saw([]);
        assert_eq!(lately.portion(100).part(), 100);
        lately.saw([10, BYTES / 8]);
        assert_eq!(lately.portion(100).part(), FIRST);
    }
}
