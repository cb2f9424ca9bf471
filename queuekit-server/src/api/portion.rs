//! Reading many jobs in parts, because payloads may have a mebibyte each: an answer ends when it is
//! long enough or large enough.

/// Jobs that are read first, to see how large they are.
const FIRST: usize = 16;
/// An answer is not made much larger than this.
const BYTES: usize = 8 * 1024 * 1024;

/// How much has been read, and how much is to come.
#[derive(Clone, Copy)]
pub(super) struct Portion {
    wanted: usize,
    items: usize,
    bytes: usize,
}

impl Portion {
    pub(super) fn new(wanted: usize) -> Self {
        Self { wanted, items: 0, bytes: 0 }
    }

    /// How many to read next, as far as the size of those before tells; at least one.
    pub(super) fn part(&self) -> usize {
        let left = self.wanted.saturating_sub(self.items);
        if self.items == 0 {
            return left.min(FIRST);
        }
        let mean = self.bytes / self.items + 1;
        left.min(BYTES.saturating_sub(self.bytes) / mean).max(1)
    }

    /// These were read; whether it is enough.
    pub(super) fn took(&mut self, sizes: impl IntoIterator<Item = usize>) -> bool {
        for size in sizes {
            self.items += 1;
            self.bytes += size;
        }
        self.items >= self.wanted || self.is_large()
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
        assert!(!large.took([BYTES / 17; FIRST]));
        assert_eq!(large.part(), 1);
        assert!(large.took([BYTES]));
    }
}
