//! How large an answer may become (contract R8.9).

use crate::limits::ANSWER_BYTES;

/// The bytes of an answer so far. The items of an answer end before the one that would take it
/// beyond [`ANSWER_BYTES`]. The first always fits, so a caller that continues page by page reaches
/// the end.
///
/// A store asks it before it adds an item, and adds no more once one did not fit. A store that
/// counts in a language of its own gets [`taken`](Self::taken) and [`ANSWER_BYTES`], and tells
/// the result by [`set`](Self::set).
///
/// ```
/// use queuekit_core::backend::AnswerBytes;
/// use queuekit_core::limits::ANSWER_BYTES;
///
/// let mut answer = AnswerBytes::default();
/// assert!(answer.admit(2 * ANSWER_BYTES), "the first always fits");
/// assert!(!answer.admit(1));
/// assert!(answer.is_full());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerBytes {
    taken: usize,
    is_full: bool,
}

impl AnswerBytes {
    /// Counts one more item, if it fits and all before it did.
    #[must_use]
    pub fn admit(&mut self, bytes: usize) -> bool {
        let fits = self.taken == 0 || self.taken.saturating_add(bytes) <= ANSWER_BYTES;
        self.is_full |= !fits;
        if !self.is_full {
            self.taken = self.taken.saturating_add(bytes);
        }
        !self.is_full
    }

    /// Whether an item did not fit.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// The bytes of the items so far.
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// What a store has counted itself: the bytes of the items so far, and whether one did not fit.
    pub fn set(&mut self, taken: usize, is_full: bool) {
        (self.taken, self.is_full) = (taken, is_full);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_9_items_fit_up_to_the_limit_and_none_after_one_that_did_not() {
        let mut answer = AnswerBytes::default();
        assert!(answer.admit(0) && answer.admit(ANSWER_BYTES - 1) && answer.admit(1));
        assert!(!answer.is_full());
        assert!(!answer.admit(1));
        assert!(!answer.admit(0), "an item behind one that did not fit is left to the next answer");
        assert!(answer.is_full());
        assert_eq!(answer.taken(), ANSWER_BYTES);
    }

    #[test]
    fn r8_9_the_first_item_fits_whatever_its_size_and_the_next_does_not() {
        let mut answer = AnswerBytes::default();
        assert!(answer.admit(usize::MAX));
        assert!(!answer.admit(usize::MAX));
    }
}
