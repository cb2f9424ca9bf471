//! A point in time, and a length of time.

use std::fmt;

use askama::Template;

use super::parts;

/// A point in time: relative for the eye, absolute on hover. Scripts keep it fresh and show the
/// viewer's zone.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/when.html")]
pub(crate) struct When {
    /// RFC 3339, in UTC, such as `2026-11-26T16:12:24.120Z`.
    pub(crate) iso: String,
    /// Milliseconds since then; negative for the future.
    pub(crate) age_ms: i64,
}

/// A length of time in ms, shown in its largest units: `1h 20m`, `3.2s`, `12ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ms(pub(crate) u64);

parts!(When, Ms);

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

impl When {
    /// `3m ago`, or `in 3m`.
    pub(crate) fn relative(&self) -> String {
        let span = Ms(self.age_ms.unsigned_abs()).coarse();
        if self.age_ms < 0 { format!("in {span}") } else { format!("{span} ago") }
    }

    /// `2026-11-26 16:12:24.120 UTC`
    pub(crate) fn absolute(&self) -> String {
        format!("{} UTC", self.iso.trim_end_matches('Z').replace('T', " "))
    }
}

impl Ms {
    /// The same without the smaller unit, if there are ten of the larger one or more.
    pub(crate) fn coarse(self) -> Self {
        let unit = match self.0 {
            0..SECOND => return self,
            SECOND..MINUTE => SECOND,
            MINUTE..HOUR => MINUTE,
            HOUR..DAY => HOUR,
            _ => DAY,
        };
        if self.0 / unit < 10 { self } else { Self(self.0 / unit * unit) }
    }
}

impl fmt::Display for Ms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut two = |large: u64, unit: char, small: u64, small_unit: char| {
            write!(f, "{}{unit}", self.0 / large)?;
            match self.0 % large / small {
                0 => Ok(()),
                rest => write!(f, " {rest}{small_unit}"),
            }
        };
        match self.0 {
            ms @ 0..SECOND => write!(f, "{ms}ms"),
            ms @ SECOND..MINUTE => match ms % SECOND / 100 {
                0 => write!(f, "{}s", ms / SECOND),
                tenths => write!(f, "{}.{tenths}s", ms / SECOND),
            },
            MINUTE..HOUR => two(MINUTE, 'm', SECOND, 's'),
            HOUR..DAY => two(HOUR, 'h', MINUTE, 'm'),
            _ => two(DAY, 'd', HOUR, 'h'),
        }
    }
}
