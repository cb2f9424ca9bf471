//! Pagination: how large a page is, and where it ended.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::limits::PAGE_JOBS;

/// Items on a page: 1..=1000 (default 100).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSize(usize);

impl PageSize {
    /// The largest page.
    pub const MAX: Self = Self(PAGE_JOBS);

    /// A page of this many items.
    ///
    /// # Errors
    /// `Invalid` outside 1..=1000.
    pub fn new(items: usize) -> Result<Self> {
        if (1..=PAGE_JOBS).contains(&items) {
            return Ok(Self(items));
        }
        Err(Error::invalid("limit", format!("1..={PAGE_JOBS}"), items))
    }

    /// The number of items.
    pub fn get(self) -> usize {
        self.0
    }
}

impl Default for PageSize {
    fn default() -> Self {
        Self(100)
    }
}

/// Where a page ended; opaque, and bound to its filter. Never an offset.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Cursor(pub(super) Vec<u8>);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cursor({self})")
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let byte = |pair: &[u8]| {
            let pair = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(pair, 16).ok()
        };
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
        bytes
            .filter(|_| text.len().is_multiple_of(2))
            .map(Self)
            .ok_or_else(|| Error::invalid("cursor", "the cursor of a page", "something else"))
    }
}
