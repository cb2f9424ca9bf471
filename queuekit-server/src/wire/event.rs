//! Events in answers, written by the server and read by commands.

use std::borrow::Cow;

use queuekit::Metadata;
use queuekit::events::{EmitOutcome, Event, EventId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{ShownBytes, Time};

/// One page of the log.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Events)]
pub(crate) struct EventsPageBody<'a> {
    #[serde(borrow)]
    pub(crate) events: Vec<EventBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cursor: Option<String>,
}

/// An event of the log.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Event)]
pub(crate) struct EventBody<'a> {
    #[schema(value_type = String, format = Uuid)]
    pub(crate) id: EventId,
    #[serde(borrow)]
    pub(crate) r#type: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) data: Option<Cow<'a, RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) partition_key: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) idempotency_key: Option<Cow<'a, str>>,
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub(crate) metadata: Cow<'a, Metadata>,
    #[schema(value_type = String, format = DateTime)]
    pub(crate) emitted_at: Time,
}

/// The outcome for an event.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Emitted)]
pub(crate) struct EmittedBody {
    #[schema(value_type = String, format = Uuid)]
    pub(crate) id: EventId,
    /// `emitted`, `duplicate` or `conflict`.
    pub(crate) outcome: Cow<'static, str>,
}

/// The outcomes for several events, in their order.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = EmittedMany)]
pub(crate) struct EmittedManyBody {
    pub(crate) outcomes: Vec<EmittedBody>,
}

impl<'a> EventBody<'a> {
    pub(crate) fn of(event: &'a Event) -> Self {
        let data = ShownBytes::of(&event.data);
        Self {
            id: event.id,
            r#type: event.kind.as_str().into(),
            data: data.json.map(Cow::Borrowed),
            data_base64: data.base64,
            partition_key: event.partition_key.as_ref().map(|key| key.as_str().into()),
            idempotency_key: event.idempotency_key.as_ref().map(|key| key.as_str().into()),
            metadata: Cow::Borrowed(&event.metadata),
            emitted_at: Time(event.emitted_at),
        }
    }
}

impl EmittedBody {
    pub(crate) fn of(outcome: EmitOutcome) -> Self {
        match outcome {
            EmitOutcome::Emitted { id } => Self { id, outcome: "emitted".into() },
            EmitOutcome::Duplicate { existing: id } => Self { id, outcome: "duplicate".into() },
            EmitOutcome::Conflict { existing: id } => Self { id, outcome: "conflict".into() },
        }
    }
}
