//! The mark of a job whose payload could not be read.

use serde::{Deserialize, Serialize};

use super::{ErrorText, storable};
use crate::clock::Timestamp;
use crate::limits::UNDECODABLE_BYTES;

/// What could not be read of a payload, since when, and how often (contract R13.8).
///
/// A release because of it carries this mark: see [`Job::undecodable`](super::Job::undecodable).
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::ToSchema),
    schema(description = "What could not be read of a payload, since when, and how often.")
)]
pub struct Undecodable {
    /// What could not be read, of the last time; at most 1 KiB.
    pub error: ErrorText,
    /// When the first lease was granted whose worker could not read the payload.
    #[serde(with = "crate::rfc3339")]
    #[cfg_attr(feature = "openapi", schema(value_type = crate::rfc3339::Rfc3339))]
    pub since: Timestamp,
    /// How many leases have ended because of it.
    pub times: u32,
}

impl Undecodable {
    /// A mark with its text cut at 1 KiB: each of a job's last releases has one.
    pub fn new(error: &str, since: Timestamp, times: u32) -> Self {
        Self { error: storable(error, UNDECODABLE_BYTES).into(), since, times }
    }

    /// As stores keep it: a text without NUL.
    pub fn to_stored(&self) -> String {
        // A text, a time and a number, so serialization cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what [`to_stored`](Self::to_stored) wrote; none if it is something else.
    pub fn from_stored(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_stored_and_its_text_is_cut() {
        let mark = Undecodable::new("at \"name\"\0: \u{e9}", Timestamp::from_millis(7), 3);
        let stored = mark.to_stored();
        assert!(!stored.contains('\0'), "{stored}");
        assert_eq!(Undecodable::from_stored(&stored), Some(mark));
        assert_eq!(Undecodable::from_stored(""), None);
        let long = Undecodable::new(&"é".repeat(1000), Timestamp::default(), 1);
        assert_eq!(long.error.as_str().len(), UNDECODABLE_BYTES);
    }
}
