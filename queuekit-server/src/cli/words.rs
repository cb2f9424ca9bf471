//! Flags that take one of a few words.

use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Reads one of these, and no other.
pub(crate) fn one_of<T>(words: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = queuekit::Error> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|word| word.parse())
}
