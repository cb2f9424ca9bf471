//! What all ids that are UUIDs have in common: their text.

/// Display, Debug, parsing and serde's text of tuple structs of one [`Uuid`](uuid::Uuid), each with
/// the field that an error names, and the versions that it may have.
macro_rules! uuid_like {
    ($($type:ident $field:literal [$($version:expr),+])*) => {$(
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.0, f)
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.0, f)
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::error::Error;

            fn from_str(text: &str) -> $crate::error::Result<Self> {
                let refuse = || {
                    let got = format!("{text:?}");
                    $crate::error::Error::invalid($field, "a UUID as printed by queuekit", got)
                };
                let id = uuid::Uuid::parse_str(text).map_err(|error| refuse().caused_by(error))?;
                let is_ours = [$($version),+].contains(&id.get_version_num());
                if is_ours { Ok(Self(id)) } else { Err(refuse()) }
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::error::read_checked::<D, String, Self>(from)
            }
        }

        impl TryFrom<String> for $type {
            type Error = $crate::error::Error;

            fn try_from(text: String) -> $crate::error::Result<Self> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(id: $type) -> Self {
                id.to_string()
            }
        }
    )*};
}

pub(crate) use uuid_like;
