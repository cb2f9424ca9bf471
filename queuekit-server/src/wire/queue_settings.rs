//! The settings of a queue, in the form of the core's JSON document.

use std::borrow::Cow;

use queuekit::queues::{KeyOnDead, KeyOnWait, Order, QueuePatch, QueueSettings};
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{AdditionalProperties, Schema};
use utoipa::openapi::{Object, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::enum_schema;

/// The settings that apply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct SettingsBody(pub(crate) QueueSettings);

/// Changes of settings; settings that are absent stay as they are.
#[derive(Debug, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct PatchBody(pub(crate) QueuePatch);

/// The schema of both; it exists only for the description.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Form {
    /// While paused, nothing is reserved.
    paused: bool,
    /// Maximum of pending jobs; further enqueues are refused. Null: no limit.
    max_pending: Option<u64>,
    /// How many jobs of one partition key may run at once.
    #[schema(minimum = 1, maximum = 10000)]
    per_key: u32,
    #[schema(schema_with = key_on_wait)]
    key_on_wait: KeyOnWait,
    #[schema(schema_with = key_on_dead)]
    key_on_dead: KeyOnDead,
    #[schema(schema_with = order)]
    order: Order,
    /// How long an idempotency key stays in use after its job has ended.
    dedup_window_ms: u64,
    retention: RetentionForm,
    /// What the queue is for: at most 1,024 bytes, no control characters except newline and tab.
    #[schema(max_length = 1024)]
    description: String,
}

/// How long ended jobs are kept.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Retention)]
#[expect(dead_code, reason = "only its schema is used")]
struct RetentionForm {
    /// Completed and cancelled jobs.
    done: KeepForm,
    /// Dead jobs.
    dead: KeepForm,
}

/// Bounds of what is kept. Null: no bound.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Keep)]
#[expect(dead_code, reason = "only its schema is used")]
struct KeepForm {
    #[schema(minimum = 600000)]
    age_ms: Option<u64>,
    jobs: Option<u64>,
    bytes: Option<u64>,
}

fn key_on_wait() -> Object {
    let text = "Whether a waiting job holds up the later ones of its partition key.";
    enum_schema(KeyOnWait::WORDS, text)
}

fn key_on_dead() -> Object {
    let text = "Whether a dead job holds up the later ones of its partition key.";
    enum_schema(KeyOnDead::WORDS, text)
}

fn order() -> Object {
    enum_schema(Order::WORDS, "`strict`: by priority and time. `fair`: partition keys in turn.")
}

/// The schema of the form, with this description.
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
        form("The settings that apply.", |_| {})
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
        form("Changes of settings; settings that are absent stay as they are.", |patch| {
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
