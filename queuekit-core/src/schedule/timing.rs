//! The times of a schedule.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Cron;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::limits::{INTERVAL_MAX, INTERVAL_MIN};

/// The nominal times of a schedule.
// Exhaustive: code that enqueues occurrences must act on each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Timing {
    /// The times of a cron expression.
    Cron(Cron),
    /// An interval.
    Every(Interval),
}

/// A fixed interval. Its times are its multiples since the beginning of 1970 in UTC, so every
/// process computes the same ones, and a restart does not shift them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Interval {
    millis: i64,
}

impl Interval {
    /// An interval of whole milliseconds, from 1 s to 366 days.
    ///
    /// # Errors
    /// `Invalid` if the interval is shorter or longer.
    pub fn new(interval: Duration) -> Result<Self> {
        let valid = (INTERVAL_MIN..=INTERVAL_MAX).contains(&interval);
        let refuse = || Error::invalid("every", "1 s..=366 days", format!("{interval:?}"));
        let millis = i64::try_from(interval.as_millis()).map_err(|_| refuse())?;
        if valid { Ok(Self { millis }) } else { Err(refuse()) }
    }

    /// The length of the interval.
    pub fn duration(self) -> Duration {
        Duration::from_millis(self.millis.unsigned_abs())
    }
}

impl Timing {
    /// The first nominal time after an instant.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Cron(cron) => cron.next_after(after),
            Self::Every(Interval { millis }) => {
                let last = after.as_millis().div_euclid(*millis);
                Some(Timestamp::from_millis((last + 1).checked_mul(*millis)?))
            }
        }
    }

    /// The last nominal time at an instant or before it.
    pub fn last_until(&self, until: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Cron(cron) => cron.last_until(until),
            Self::Every(Interval { millis }) => {
                let last = until.as_millis().div_euclid(*millis);
                Some(Timestamp::from_millis(last.checked_mul(*millis)?))
            }
        }
    }
}

impl From<Cron> for Timing {
    fn from(cron: Cron) -> Self {
        Self::Cron(cron)
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cron(cron) => fmt::Display::fmt(cron, f),
            Self::Every(interval) => write!(f, "every {interval}"),
        }
    }
}

/// In the largest unit of which it is a whole number: `90s`, `1h`.
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s")];
        let whole = units.into_iter().find(|(unit, _)| self.millis % unit == 0);
        let (unit, name) = whole.unwrap_or((1, "ms"));
        write!(f, "{}{name}", self.millis / unit)
    }
}

/// The stored form.
#[derive(Serialize, Deserialize)]
struct Written {
    every_ms: u64,
}

impl From<Interval> for Written {
    fn from(interval: Interval) -> Self {
        Self { every_ms: interval.millis.unsigned_abs() }
    }
}

impl TryFrom<Written> for Interval {
    type Error = Error;

    fn try_from(written: Written) -> Result<Self> {
        Self::new(Duration::from_millis(written.every_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_written_in_its_largest_whole_unit() {
        for (millis, written) in [
            (1500, "1500ms"),
            (1000, "1s"),
            (90_000, "90s"),
            (300_000, "5m"),
            (3_600_000, "1h"),
            (5_400_000, "90m"),
            (86_400_000, "1d"),
            (90_000_000, "25h"),
        ] {
            let interval = Interval::new(Duration::from_millis(millis)).unwrap();
            assert_eq!(Timing::Every(interval).to_string(), format!("every {written}"));
        }
    }
}
