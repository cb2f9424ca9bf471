//! The id of an event.

use serde::Serialize;
use uuid::{Builder, Uuid};

use crate::clock::Timestamp;
use crate::uuid_like::uuid_like;

/// A UUIDv7, made by the client before the call, so that a call whose reply was lost can be
/// repeated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::ToSchema),
    schema(description = "The id of an event.")
)]
#[serde(into = "String")]
pub struct EventId(Uuid);

impl EventId {
    /// A new id; `now` only makes ids sort roughly by age.
    pub fn generate(now: Timestamp) -> Self {
        let mut random = [0; 10];
        random[..8].copy_from_slice(&fastrand::u64(..).to_be_bytes());
        random[8..].copy_from_slice(&fastrand::u16(..).to_be_bytes());
        let millis = u64::try_from(now.as_millis()).unwrap_or(0);
        Self(Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
    }

    /// The time that the id contains.
    pub(crate) fn millis(self) -> u64 {
        self.0.as_bytes()[..6].iter().fold(0, |millis, byte| millis << 8 | u64::from(*byte))
    }

    /// The 16 bytes, for stores.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The id of these 16 bytes, for stores.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }
}

uuid_like! { EventId "event" [7] }
