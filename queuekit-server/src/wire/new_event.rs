//! An event to store: commands write it, routes read it.

use std::time::Duration;

use queuekit::Metadata;
use queuekit::events::{EventDraft, EventId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{GivenBytes, bounded, metadata};
use crate::web::Problem;

/// An event to store.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewEvent)]
pub(crate) struct NewEventBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<EventId>,
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$", example = "order.paid")]
    pub(crate) r#type: String,
    /// Any JSON value; stored byte for byte.
    #[schema(value_type = Option<serde_json::Value>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Box<RawValue>>,
    #[schema(format = Byte)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data_base64: Option<String>,
    /// Ordered consumers get the events of one key one after the other.
    #[schema(min_length = 1, max_length = 256)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) partition_key: Option<String>,
    /// The log holds one event of the type with this key.
    #[schema(min_length = 1, max_length = 256)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) idempotency_key: Option<String>,
    #[serde(default, deserialize_with = "metadata", skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Metadata>,
    /// How long its deliveries wait.
    #[schema(maximum = 31622400000_u64)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay_ms: Option<u64>,
}

/// Several events to store in one atomic step.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewEvents)]
pub(crate) struct NewEventsBody {
    #[schema(max_items = 1000)]
    #[serde(deserialize_with = "bounded")]
    pub(crate) events: Vec<NewEventBody>,
}

impl NewEventBody {
    /// The event.
    ///
    /// # Errors
    /// 422 if its data has two forms, or is not base64.
    pub(crate) fn draft(self) -> Result<EventDraft, Problem> {
        let given = GivenBytes { json: self.data, base64: self.data_base64 };
        let data = given.bytes("data")?.unwrap_or_else(|| "null".into());
        let mut draft =
            EventDraft::new(self.r#type, data).metadata(self.metadata.unwrap_or_default());
        if let Some(key) = self.partition_key {
            draft = draft.partition_key(key);
        }
        if let Some(key) = self.idempotency_key {
            draft = draft.idempotency_key(key);
        }
        if let Some(delay_ms) = self.delay_ms {
            draft = draft.delay(Duration::from_millis(delay_ms));
        }
        Ok(match self.id {
            Some(id) => draft.id(id),
            None => draft,
        })
    }
}
