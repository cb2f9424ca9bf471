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
            Self::Every(interval) => write!(f, "every {:?}", interval.duration()),
        }
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
