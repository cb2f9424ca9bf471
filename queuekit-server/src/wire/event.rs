//! Events and their outcomes, in answers.

use std::collections::BTreeMap;

use queuekit::events::{EmitOutcome, Event};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One page of the log.
#[derive(Serialize, ToSchema)]
#[schema(as = Events)]
pub(crate) struct EventsPageBody<'a> {
    #[schema(value_type = Vec<EventForm>)]
    pub(crate) events: Vec<&'a Event>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cursor: Option<String>,
}

/// An event of the log.
#[derive(ToSchema)]
#[schema(as = Event)]
#[expect(dead_code, reason = "only its schema is used: the core serializes events")]
pub(crate) struct EventForm {
    #[schema(format = Uuid)]
    id: String,
    r#type: String,
    data: Option<serde_json::Value>,
    data_base64: Option<String>,
    partition_key: Option<String>,
    idempotency_key: Option<String>,
    metadata: BTreeMap<String, String>,
    #[schema(format = DateTime)]
    emitted_at: String,
}

/// The outcome for an event.
#[derive(ToSchema)]
#[schema(as = Emitted)]
#[expect(dead_code, reason = "only its schema is used: the core serializes outcomes")]
pub(crate) struct EmittedForm {
    #[schema(format = Uuid)]
    id: String,
    /// `emitted`, `duplicate` or `conflict`.
    outcome: String,
}

/// The outcomes for several events, in their order.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = EmittedMany)]
pub(crate) struct EmittedManyBody {
    #[schema(value_type = Vec<EmittedForm>)]
    pub(crate) outcomes: Vec<EmitOutcome>,
}
