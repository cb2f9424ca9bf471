//! Schemas of types that have one of two forms.

/// Implements the schema of a type that has the form of one of two others.
macro_rules! one_of_schema {
    ($type:ty, $name:literal = $one:ty, $one_name:literal | $other:ty, $other_name:literal) => {
        impl utoipa::PartialSchema for $type {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let one = utoipa::openapi::Ref::from_schema_name($one_name);
                let other = utoipa::openapi::Ref::from_schema_name($other_name);
                utoipa::openapi::schema::OneOfBuilder::new().item(one).item(other).into()
            }
        }

        impl utoipa::ToSchema for $type {
            fn name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn schemas(
                schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>,
            ) {
                let own = [
                    ($one_name, <$one as utoipa::PartialSchema>::schema()),
                    ($other_name, <$other as utoipa::PartialSchema>::schema()),
                ];
                schemas.extend(own.map(|(name, schema)| (name.to_owned(), schema)));
                <$one as utoipa::ToSchema>::schemas(schemas);
                <$other as utoipa::ToSchema>::schemas(schemas);
            }
        }
    };
}

pub(crate) use one_of_schema;
