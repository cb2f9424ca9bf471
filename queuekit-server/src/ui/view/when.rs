//! A point in time, and a length of time.

use std::fmt;
use std::time::Duration;

use askama::Template;
use queuekit::store::span;

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ms(pub(crate) u64);

parts!(When, Ms);

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

impl When {
    /// `3m ago`, `now`, or `in 3m`.
    pub(crate) fn relative(&self) -> String {
        let age = Ms(self.age_ms.unsigned_abs());
        if age.0 < SECOND {
            return "now".to_owned();
        }
        let span = age.coarse();
        if self.age_ms < 0 { format!("in {span}") } else { format!("{span} ago") }
    }

    /// `2026-11-26 16:12:24.120 UTC`
    pub(crate) fn absolute(&self) -> String {
        format!("{} UTC", self.iso.trim_end_matches('Z').replace('T', " "))
    }
}

impl Ms {
    /// The same in whole seconds, and without the smaller unit if there are ten of the larger.
    pub(crate) fn coarse(self) -> Self {
        let unit = match self.0 {
            0..MINUTE => return Self(self.0 / SECOND * SECOND),
            MINUTE..HOUR => MINUTE,
            HOUR..DAY => HOUR,
            _ => DAY,
        };
        if self.0 / unit < 10 { self } else { Self(self.0 / unit * unit) }
    }
}

impl fmt::Display for Ms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&span(Duration::from_millis(self.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(age_ms: i64) -> String {
        When { iso: "2026-11-26T16:12:24.120Z".to_owned(), age_ms }.relative()
    }

    #[test]
    fn an_age_is_told_in_its_largest_units() {
        assert_eq!(told(400), "now");
        assert_eq!(told(3_400), "3s ago");
        assert_eq!(told(-75_000), "in 1m 15s");
        assert_eq!(told(11 * 60_000 + 5_000), "11m ago");
        assert_eq!(told(3 * 3_600_000 + 600_000), "3h 10m ago");
        assert_eq!(told(i64::MIN), "in 106751991167d");
    }

    #[test]
    fn a_length_is_told_as_the_command_line_does() {
        for (ms, told) in [(0, "0ms"), (999, "999ms"), (2_100, "2.1s"), (60_000, "1m")] {
            assert_eq!(Ms(ms).to_string(), told);
        }
        assert_eq!(Ms(90_061_000).to_string(), "1d 1h");
    }

    #[test]
    fn the_absolute_time_names_its_zone() {
        let when = When { iso: "2026-11-26T16:12:24.120Z".to_owned(), age_ms: 0 };
        assert_eq!(when.absolute(), "2026-11-26 16:12:24.120 UTC");
        assert!(when.to_string().contains("datetime=\"2026-11-26T16:12:24.120Z\""), "{when}");
    }
}
