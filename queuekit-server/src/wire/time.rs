//! Times as RFC 3339 in UTC, durations as whole milliseconds.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp as Instant;
use queuekit::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

/// A time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Timestamp);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = Instant::from_millisecond(self.0.as_millis());
        // A time beyond the years that RFC 3339 can express is shown as the last one it can.
        let at = at.unwrap_or(if self.0.as_millis() < 0 { Instant::MIN } else { Instant::MAX });
        at.fmt(f)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{self:.3}"))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(from)?;
        let at: Instant = text.parse().map_err(|_| {
            let rule = "a time is RFC 3339, such as 2026-01-31T12:00:00Z, before the year 10000";
            de::Error::custom(rule)
        })?;
        Ok(at.into())
    }
}

impl From<Instant> for Time {
    fn from(at: Instant) -> Self {
        Self(Timestamp::from_millis(at.as_millisecond()))
    }
}

impl From<Timestamp> for Time {
    fn from(at: Timestamp) -> Self {
        Self(at)
    }
}

impl PartialSchema for Time {
    fn schema() -> RefOr<Schema> {
        let instant = ObjectBuilder::new().schema_type(Type::String);
        instant.format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime))).into()
    }
}

/// The schema has the name of the core's, which is the same.
impl ToSchema for Time {
    fn name() -> Cow<'static, str> {
        "Timestamp".into()
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
