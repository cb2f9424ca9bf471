//! Enums of which each value is a word, the same in Rust, JSON, SQL and on the command line.

/// `ALL`, `as_str`, Display, parsing and serde of an enum, with the field that an error names.
macro_rules! words {
    ($type:ident $field:literal { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $type {
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The word of each, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// Its word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }

            fn of_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == word)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::error::Error;

            fn from_str(word: &str) -> $crate::error::Result<Self> {
                let one_of = || format!("one of {}", Self::WORDS.join(", "));
                let refuse = || $crate::error::Error::invalid($field, one_of(), word);
                Self::of_word(word).ok_or_else(refuse)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let word = <String as serde::Deserialize>::deserialize(from)?;
                let unknown = || serde::de::Error::unknown_variant(&word, Self::WORDS);
                Self::of_word(&word).ok_or_else(unknown)
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $type {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let words = Some(Self::WORDS.iter().copied());
                let object = utoipa::openapi::ObjectBuilder::new().enum_values(words);
                object.schema_type(utoipa::openapi::Type::String).into()
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $type {
            fn name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
        }
    };
}

pub(crate) use words;
