//! Flags whose value is one of a few words.

use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// A parser that accepts one of these words.
pub(crate) fn one_of<T>(words: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = queuekit::Error> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|word| word.parse())
}
