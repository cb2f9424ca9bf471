//! Instants as RFC 3339 in UTC, durations as whole milliseconds.

use std::time::Duration;

use jiff::Timestamp as Instant;
use queuekit::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Timestamp);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let at = Instant::from_millisecond(self.0.as_millis());
        // What is beyond the years that can be written is far enough.
        let at = at.unwrap_or(if self.0.as_millis() < 0 { Instant::MIN } else { Instant::MAX });
        to.collect_str(&format_args!("{at:.3}"))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        let at: Instant = text.parse().map_err(|_| {
            let rule = "a time is RFC 3339, as 2026-01-31T12:00:00Z, before the end of year 9999";
            de::Error::custom(rule)
        })?;
        Ok(Self(Timestamp::from_millis(at.as_millisecond())))
    }
}

impl From<Timestamp> for Time {
    fn from(at: Timestamp) -> Self {
        Self(at)
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_written_with_milliseconds_and_read_in_any_zone() {
        let at = Time(Timestamp::from_millis(1_767_225_600_007));
        let text = serde_json::to_string(&at).unwrap();
        assert_eq!(text, r#""2026-01-01T00:00:00.007Z""#);
        assert_eq!(serde_json::from_str::<Time>(&text).unwrap(), at);
        let zoned = r#""2026-01-01T01:00:00.007+01:00""#;
        assert_eq!(serde_json::from_str::<Time>(zoned).unwrap(), at);
        assert!(serde_json::from_str::<Time>(r#""yesterday""#).is_err());
    }
}
