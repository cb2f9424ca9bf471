//! Describing what is one of a few words.

use utoipa::openapi::{Object, ObjectBuilder, Type};

/// The schema of an enum of the contract that is written as one of these, with this description.
pub(crate) fn words(words: &'static [&'static str], text: &str) -> Object {
    let words = Some(words.iter().copied());
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(words)
        .description(Some(text))
        .build()
}
