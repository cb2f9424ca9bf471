//! Reading and writing the heads of records.

use std::ops::Range;

use queuekit_core::Timestamp;

/// The bytes of a record, of which parts are read. A part that is not there, or is no number, is
/// none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts<'a>(pub(crate) &'a [u8]);

impl<'a> Parts<'a> {
    pub(crate) fn text(self, at: Range<usize>) -> Option<&'a str> {
        std::str::from_utf8(self.0.get(at)?).ok()
    }

    /// A text of variable length; none if it is empty.
    pub(crate) fn named(self, at: Range<usize>) -> Option<&'a str> {
        self.text(at).filter(|text| !text.is_empty())
    }

    pub(crate) fn hex(self, at: Range<usize>) -> Option<u64> {
        u64::from_str_radix(self.text(at)?, 16).ok()
    }

    pub(crate) fn length(self, at: Range<usize>) -> Option<usize> {
        self.hex(at).and_then(|length| usize::try_from(length).ok())
    }

    pub(crate) fn time(self, at: Range<usize>) -> Option<Timestamp> {
        i64::try_from(self.hex(at)?).ok().map(Timestamp::from_millis)
    }

    /// A time in decimal digits.
    pub(crate) fn decimal_time(self, at: Range<usize>) -> Option<Timestamp> {
        self.text(at)?.parse().ok().map(Timestamp::from_millis)
    }
}

/// Writes a number to its field in a head, in hexadecimal digits.
pub(crate) fn put(head: &mut [u8], at: Range<usize>, number: usize) {
    let digits = head.get_mut(at).unwrap_or_default().iter_mut().rev();
    let mut left = number;
    for digit in digits {
        *digit = b"0123456789abcdef"[left & 15];
        left >>= 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_as_it_was_written() {
        let mut head = *b"........";
        put(&mut head, 2..5, 0x1a);
        assert_eq!(&head, b"..01a...");
        assert_eq!(Parts(&head).hex(2..5), Some(0x1a));
        assert_eq!(Parts(&head).hex(6..9), None);
    }
}
