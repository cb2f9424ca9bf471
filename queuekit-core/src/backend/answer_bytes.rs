//! How large an answer may become (contract R8.9).

use crate::limits::ANSWER_BYTES;

/// The bytes of an answer so far, and the most it may have: [`ANSWER_BYTES`], unless the caller
/// asks for fewer. The items of an answer end before the one that would take it beyond that. The
/// first always fits, so a caller that continues page by page reaches the end; a caller that has
/// no memory to spare can ask [`strictly`](Self::strictly).
///
/// A store asks it before it adds an item, and adds no more once one did not fit. A store that
/// counts in a language of its own gets [`taken`](Self::taken) and [`most`](Self::most), and tells
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerBytes {
    taken: usize,
    most: usize,
    is_full: bool,
}

impl Default for AnswerBytes {
    fn default() -> Self {
        Self::up_to(ANSWER_BYTES)
    }
}

impl AnswerBytes {
    /// An answer of at most this many bytes, and of at most [`ANSWER_BYTES`], or of one item.
    pub fn up_to(most: usize) -> Self {
        Self { taken: 0, most: most.min(ANSWER_BYTES), is_full: false }
    }

    /// The same, but the first item has to fit as well. An answer that is full and empty says that
    /// the caller needs more bytes.
    ///
    /// ```
    /// use queuekit_core::backend::AnswerBytes;
    ///
    /// let mut answer = AnswerBytes::up_to(10).strictly();
    /// assert!(!answer.admit(11) && answer.is_full());
    /// ```
    #[must_use]
    pub fn strictly(self) -> Self {
        // Only the first item of an answer without bytes is exempt: let it have one already.
        Self { taken: self.taken + 1, most: self.most + 1, ..self }
    }

    /// Counts one more item, if it fits and all before it did.
    #[must_use]
    pub fn admit(&mut self, bytes: usize) -> bool {
        let fits = self.taken == 0 || self.taken.saturating_add(bytes) <= self.most;
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

    /// The most bytes it may have, unless it is empty: then one item may have more.
    pub fn most(&self) -> usize {
        self.most
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

    #[test]
    fn r8_9_a_caller_may_ask_for_fewer_bytes_but_not_for_more() {
        let mut few = AnswerBytes::up_to(10);
        assert!(few.admit(4) && few.admit(6) && !few.admit(1));
        assert_eq!(AnswerBytes::up_to(usize::MAX), AnswerBytes::default());
    }

    #[test]
    fn r8_9_the_first_item_of_a_strict_answer_has_to_fit_too() {
        let mut strict = AnswerBytes::up_to(10).strictly();
        assert!(!strict.admit(11) && strict.is_full());
        let mut strict = AnswerBytes::up_to(10).strictly();
        assert!(strict.admit(4) && strict.admit(6) && !strict.admit(1));
    }
}
