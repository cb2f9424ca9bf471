//! Schemas of enums that are written as words.

use utoipa::openapi::{Object, ObjectBuilder, Type};

/// The schema of an enum of the core, with its words and this description.
pub(crate) fn enum_schema(words: &'static [&'static str], text: &str) -> Object {
    let words = Some(words.iter().copied());
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(words)
        .description(Some(text))
        .build()
}
