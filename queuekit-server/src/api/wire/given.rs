//! Null, which is not the same as nothing.

use serde::{Deserialize, Deserializer};

/// A field that was sent: null is read as what the field holds, and refused where that has no null.
pub(crate) fn given<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(from).map(Some)
}
