//! A span of store time, for filters.

use std::ops::{Range, RangeFrom, RangeTo};

use crate::clock::Timestamp;

/// From (inclusive) and to (exclusive) an instant of store time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimeRange {
    /// The first instant inside.
    pub from: Option<Timestamp>,
    /// The first instant after it.
    pub to: Option<Timestamp>,
}

impl TimeRange {
    /// Whether it bounds nothing.
    pub fn is_unbounded(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    /// The last instant inside; none if no instant is after it.
    pub fn last(&self) -> Option<Timestamp> {
        self.to.map(|to| Timestamp::from_millis(to.as_millis().saturating_sub(1)))
    }

    /// Whether the instant is inside.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| at >= from) && self.to.is_none_or(|to| at < to)
    }
}

impl<T: Into<Timestamp>> From<Range<T>> for TimeRange {
    fn from(range: Range<T>) -> Self {
        Self { from: Some(range.start.into()), to: Some(range.end.into()) }
    }
}

impl<T: Into<Timestamp>> From<RangeFrom<T>> for TimeRange {
    fn from(range: RangeFrom<T>) -> Self {
        Self { from: Some(range.start.into()), to: None }
    }
}

impl<T: Into<Timestamp>> From<RangeTo<T>> for TimeRange {
    fn from(range: RangeTo<T>) -> Self {
        Self { from: None, to: Some(range.end.into()) }
    }
}
