//! Schemas of what is written as JSON, for descriptions of HTTP APIs: the feature `openapi`.
//! Structs derive theirs, in which each field is named once for serde and for utoipa. Here are the
//! schemas of what is a single word or text.

/// Gives a type the schema of the private struct as which it is written or read.
macro_rules! schema_of_form {
    ($type:ty, $form:ty) => {
        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $type {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                <$form as utoipa::PartialSchema>::schema()
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $type {
            fn name() -> std::borrow::Cow<'static, str> {
                <$form as utoipa::ToSchema>::name()
            }

            fn schemas(
                schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>,
            ) {
                <$form as utoipa::ToSchema>::schemas(schemas);
            }
        }
    };
}

pub(crate) use schema_of_form;

/// Gives a type that is written as a text this schema.
#[cfg(feature = "openapi")]
macro_rules! texts {
    ($($type:ty, $name:literal = $schema:expr),+ $(,)?) => {$(
        impl utoipa::PartialSchema for $type {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                $schema.schema_type(utoipa::openapi::Type::String).into()
            }
        }

        impl utoipa::ToSchema for $type {
            fn name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }
        }
    )+};
}

#[cfg(feature = "openapi")]
mod texts {
    use utoipa::openapi::{KnownFormat, ObjectBuilder, SchemaFormat};

    use crate::limits::KEY_BYTES;
    use crate::names::{IdempotencyKey, Kind, NAME_RULE, PartitionKey, QueueName, WorkerId};
    use crate::rfc3339::Rfc3339;

    texts! {
        QueueName, "QueueName" = name(),
        Kind, "Kind" = name(),
        WorkerId, "WorkerId" = name(),
        PartitionKey, "PartitionKey" = key(),
        IdempotencyKey, "IdempotencyKey" = key(),
        Rfc3339, "Timestamp" = instant(),
    }

    fn name() -> ObjectBuilder {
        ObjectBuilder::new().pattern(Some(format!("^{NAME_RULE}$")))
    }

    fn key() -> ObjectBuilder {
        ObjectBuilder::new().min_length(Some(1)).max_length(Some(KEY_BYTES))
    }

    fn instant() -> ObjectBuilder {
        ObjectBuilder::new().format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
    }
}
