//! Fields in which null differs from a missing field.

use serde::{Deserialize, Deserializer};

/// Reads a field that was sent. Null is passed on to its type, which refuses it unless it has one.
pub(crate) fn nullable<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(from).map(Some)
}
