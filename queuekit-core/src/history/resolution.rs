//! How finely history is kept, and for how long.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::enum_words::words;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The time that one row of history covers. Rows of each are written at once, so that none is made
/// of others later.
// Exhaustive: a store has to keep each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resolution {
    /// Kept for 3 hours.
    Minute,
    /// Kept for 2 days.
    TenMinutes,
    /// Kept for 60 days.
    Hour,
}

words!(Resolution "step" { Minute = "1m", TenMinutes = "10m", Hour = "1h" });

impl Resolution {
    /// The time that a row covers.
    pub const fn length(self) -> Duration {
        match self {
            Self::Minute => MINUTE,
            Self::TenMinutes => Duration::from_secs(10 * 60),
            Self::Hour => HOUR,
        }
    }

    /// How long rows are kept.
    pub const fn kept(self) -> Duration {
        match self {
            Self::Minute => Duration::from_secs(3 * HOUR.as_secs()),
            Self::TenMinutes => Duration::from_secs(2 * DAY.as_secs()),
            Self::Hour => Duration::from_secs(60 * DAY.as_secs()),
        }
    }

    /// The finest that is still kept for a time that began this long ago.
    pub fn for_age(age: Duration) -> Self {
        let kept = Self::ALL.iter().copied().find(|resolution| age <= resolution.kept());
        kept.unwrap_or(Self::Hour)
    }

    /// The beginning of the row that covers this time.
    pub fn start_of(self, at: Timestamp) -> Timestamp {
        let length = i64::try_from(self.length().as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(at.as_millis() - at.as_millis().rem_euclid(length))
    }

    /// Rows that begin before this are no longer kept.
    pub fn oldest(self, now: Timestamp) -> Timestamp {
        now.minus(self.kept())
    }

    /// Its number in stores, which never changes.
    pub const fn number(self) -> i64 {
        match self {
            Self::Minute => 1,
            Self::TenMinutes => 10,
            Self::Hour => 60,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_5_a_row_covers_the_time_from_its_start() {
        let at = Timestamp::from_millis(1_767_225_600_000 + 3_599_999);
        let starts = Resolution::ALL.iter().map(|of| at.since(of.start_of(at)).as_millis());
        assert_eq!(starts.collect::<Vec<_>>(), [59_999, 599_999, 3_599_999]);
        let before = Timestamp::from_millis(-1);
        assert_eq!(Resolution::Minute.start_of(before), Timestamp::from_millis(-60_000));
    }

    #[test]
    fn r8_5_old_times_have_coarse_rows() {
        for (age, resolution) in [
            (Duration::ZERO, Resolution::Minute),
            (3 * HOUR, Resolution::Minute),
            (3 * HOUR + MINUTE, Resolution::TenMinutes),
            (2 * DAY, Resolution::TenMinutes),
            (3 * DAY, Resolution::Hour),
            (400 * DAY, Resolution::Hour),
        ] {
            assert_eq!(Resolution::for_age(age), resolution, "{age:?}");
        }
    }
}
