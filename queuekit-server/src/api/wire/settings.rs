//! The settings of a queue, in the form that the contract gives them.

use std::borrow::Cow;

use queuekit::queue::{KeyOnDead, KeyOnWait, Order};
use queuekit::{QueuePatch, QueueSettings};
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{AdditionalProperties, Schema};
use utoipa::openapi::{Object, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::words;

/// Settings as they hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct SettingsBody(pub(crate) QueueSettings);

/// What is changed; what is absent stays.
#[derive(Debug, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct PatchBody(pub(crate) QueuePatch);

/// How both are described: nothing else is made of it.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it is described, and never built")]
struct Form {
    paused: bool,
    /// Null is no limit.
    max_pending: Option<u64>,
    #[schema(minimum = 1, maximum = 10000)]
    per_key: u32,
    #[schema(schema_with = key_on_wait)]
    key_on_wait: KeyOnWait,
    #[schema(schema_with = key_on_dead)]
    key_on_dead: KeyOnDead,
    #[schema(schema_with = order)]
    order: Order,
    dedup_window_ms: u64,
    retention: RetentionForm,
    /// What the queue is for: at most 1,024 bytes, without control characters but newline and tab.
    #[schema(max_length = 1024)]
    description: String,
}

/// How long ended jobs are kept.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Retention)]
#[expect(dead_code, reason = "it is described, and never built")]
struct RetentionForm {
    /// Completed and cancelled ones.
    done: KeepForm,
    /// Dead ones.
    dead: KeepForm,
}

/// Bounds; null is no bound.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Keep)]
#[expect(dead_code, reason = "it is described, and never built")]
struct KeepForm {
    #[schema(minimum = 600000)]
    age_ms: Option<u64>,
    jobs: Option<u64>,
    bytes: Option<u64>,
}

fn key_on_wait() -> Object {
    words(KeyOnWait::WORDS, "What a waiting job does to the later ones of its key.")
}

fn key_on_dead() -> Object {
    words(KeyOnDead::WORDS, "What a dead job does to the later ones of its key.")
}

fn order() -> Object {
    words(Order::WORDS, "By priority, or keys in turn.")
}

/// The description of the form, under this text.
fn form(text: &str, change: impl FnOnce(&mut Object)) -> RefOr<Schema> {
    let mut form = Form::schema();
    if let RefOr::T(Schema::Object(object)) = &mut form {
        object.description = Some(text.to_owned());
        change(object);
    }
    form
}

impl PartialSchema for SettingsBody {
    fn schema() -> RefOr<Schema> {
        form("Settings as they hold.", |_| {})
    }
}

impl ToSchema for SettingsBody {
    fn name() -> Cow<'static, str> {
        "QueueSettings".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Form::schemas(schemas);
    }
}

impl PartialSchema for PatchBody {
    fn schema() -> RefOr<Schema> {
        form("What is changed; what is absent stays.", |patch| {
            patch.required.clear();
            patch.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
        })
    }
}

impl ToSchema for PatchBody {
    fn name() -> Cow<'static, str> {
        "QueuePatch".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Form::schemas(schemas);
    }
}
