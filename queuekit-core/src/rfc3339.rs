//! Instants in JSON: RFC 3339 in UTC with milliseconds, such as `2026-01-31T12:00:00.000Z`. For
//! `#[serde(with = "rfc3339")]`.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::clock::Timestamp;

/// An instant as it is written.
#[derive(Serialize, Deserialize)]
pub(crate) struct Rfc3339(#[serde(with = "crate::rfc3339")] pub(crate) Timestamp);

pub(crate) fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&written(*at))
}

/// The text of an instant.
pub(crate) fn written(at: Timestamp) -> String {
    let millis = at.as_millis();
    // Instants beyond the years that can be written are cut to the nearest one.
    let (first, last) = (jiff::Timestamp::MIN, jiff::Timestamp::MAX);
    let at = jiff::Timestamp::from_millisecond(millis);
    let at = at.unwrap_or(if millis < 0 { first } else { last });
    format!("{at:.3}")
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(from)?;
    let at: jiff::Timestamp = text.parse().map_err(D::Error::custom)?;
    Ok(Timestamp::from_millis(at.as_millisecond()))
}

/// Likewise; what is absent is none.
pub(crate) mod option {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        at: &Option<Timestamp>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        at.map(Rfc3339).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        Ok(Option::<Rfc3339>::deserialize(from)?.map(|Rfc3339(at)| at))
    }
}
