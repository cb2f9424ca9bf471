//! Whether each of the last ended jobs of a queue died (contract R8.3).

use crate::limits::HEALTH_WINDOW;

const BYTES: usize = HEALTH_WINDOW.div_ceil(8);

/// A ring of bits, as stores keep it: four bytes how many ends there were, then one bit per end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    seen: u32,
    bits: [u8; BYTES],
}

impl Ends {
    /// No job has ended yet.
    pub const NONE: Self = Self { seen: 0, bits: [0; BYTES] };

    /// Reads the ring from bytes. If their length is wrong, another version wrote them, and the
    /// ring begins anew.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let parts = bytes.split_first_chunk::<4>();
        let Some((seen, Ok(bits))) = parts.map(|(seen, bits)| (seen, bits.try_into())) else {
            return Self::NONE;
        };
        Self { seen: u32::from_be_bytes(*seen), bits }
    }

    /// The bytes to store.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.seen.to_be_bytes().to_vec();
        bytes.extend_from_slice(&self.bits);
        bytes
    }

    /// One more job ended.
    pub fn push(&mut self, died: bool) {
        let at = self.seen as usize % HEALTH_WINDOW;
        let bit = 1 << (at % 8);
        self.bits[at / 8] = self.bits[at / 8] & !bit | if died { bit } else { 0 };
        // Past the first round only the place in the ring matters.
        self.seen = if self.seen as usize == 2 * HEALTH_WINDOW - 1 {
            HEALTH_WINDOW as u32
        } else {
            self.seen + 1
        };
    }

    /// How many ends are remembered: at most the last 1,000.
    pub fn ended(&self) -> usize {
        (self.seen as usize).min(HEALTH_WINDOW)
    }

    /// How many of these jobs died.
    pub fn dead(&self) -> usize {
        self.bits.iter().map(|byte| byte.count_ones() as usize).sum()
    }
}

impl Default for Ends {
    fn default() -> Self {
        Self::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_3_only_the_last_1000_ends_count() {
        let mut ends = Ends::NONE;
        (0..10).for_each(|at| ends.push(at < 5));
        assert_eq!((ends.dead(), ends.ended()), (5, 10));
        (0..3000).for_each(|_| ends.push(true));
        let read = Ends::from_bytes(&ends.to_bytes());
        assert_eq!((read.dead(), read.ended()), (1000, 1000));
        (0..750).for_each(|_| ends.push(false));
        let read = Ends::from_bytes(&ends.to_bytes());
        assert_eq!((read.dead(), read.ended()), (250, 1000));
    }
}
