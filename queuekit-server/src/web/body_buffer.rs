//! The bytes of a body, in memory that goes back to the system when the body is dropped.

use std::io;

use bytes::{Bytes, BytesMut};
use memmap2::MmapMut;

/// From this size on, a body has pages of its own. An allocator keeps what large bodies have freed:
/// glibc's kept 500 MiB of bodies that were refused.
const LARGE: usize = 256 * 1024;

/// Collects the parts of a body.
#[derive(Debug, Default)]
pub(super) enum BodyBuffer {
    #[default]
    Empty,
    /// Most bodies arrive in one piece, which is not copied.
    One(Bytes),
    Joined(BytesMut),
    Large(LargeBody),
}

/// A body that has pages of its own. Those that nothing was written to take no memory.
#[derive(Debug)]
pub(super) struct LargeBody {
    pages: MmapMut,
    length: usize,
}

impl BodyBuffer {
    /// Adds a part of a body that has at most `most` bytes.
    ///
    /// # Errors
    /// If the system has no memory for a large body, or the body has more bytes.
    pub(super) fn push(&mut self, part: Bytes, most: usize) -> io::Result<()> {
        let before = match self {
            Self::Large(large) => return large.push(&part),
            Self::Joined(joined) if joined.len() + part.len() < LARGE => {
                joined.extend_from_slice(&part);
                return Ok(());
            }
            _ => std::mem::take(self).whole(),
        };
        *self = if before.is_empty() {
            Self::One(part)
        } else if before.len() + part.len() < LARGE {
            let mut joined = BytesMut::from(before);
            joined.extend_from_slice(&part);
            Self::Joined(joined)
        } else {
            let mut large = LargeBody { pages: MmapMut::map_anon(most)?, length: 0 };
            large.push(&before)?;
            large.push(&part)?;
            Self::Large(large)
        };
        Ok(())
    }

    /// The whole body.
    pub(super) fn whole(self) -> Bytes {
        match self {
            Self::Empty => Bytes::new(),
            Self::One(part) => part,
            Self::Joined(joined) => joined.freeze(),
            Self::Large(large) => Bytes::from_owner(large),
        }
    }
}

impl LargeBody {
    fn push(&mut self, part: &[u8]) -> io::Result<()> {
        let end = self.length + part.len();
        let room = self.pages.get_mut(self.length..end).ok_or(io::ErrorKind::WriteZero)?;
        room.copy_from_slice(part);
        self.length = end;
        Ok(())
    }
}

impl AsRef<[u8]> for LargeBody {
    fn as_ref(&self) -> &[u8] {
        &self.pages[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guard: an allocator kept what large bodies had freed.
    #[test]
    fn s6_a_large_body_has_pages_of_its_own_and_every_body_is_whole() {
        for (parts, size, is_large) in
            [(0, 0, false), (1, 512 * 1024, false), (9, 1000, false), (20, 16 * 1024, true)]
        {
            let bytes: Vec<u8> = (0..parts * size).map(|at| (at % 251) as u8).collect();
            let (bytes, mut buffer) = (Bytes::from(bytes), BodyBuffer::default());
            for part in 0..parts {
                buffer.push(bytes.slice(part * size..(part + 1) * size), bytes.len()).unwrap();
            }
            assert_eq!(matches!(buffer, BodyBuffer::Large(_)), is_large, "{parts} of {size}");
            let whole = buffer.whole();
            assert!(whole == bytes, "{parts} of {size}");
        }
    }

    #[test]
    fn a_large_body_with_more_than_it_may_have_is_refused() {
        let mut buffer = BodyBuffer::default();
        for _ in 0..2 {
            buffer.push(Bytes::from(vec![1; LARGE]), 2 * LARGE).unwrap();
        }
        assert!(buffer.push(Bytes::from_static(b"x"), 2 * LARGE).is_err());
    }
}
