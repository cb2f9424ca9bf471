//! Events and their outcomes, in answers. The core serializes an event.

use queuekit::events::{EmitOutcome, Event};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One page of the log.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Events, bound = "")]
pub(crate) struct EventsBody<T = Event> {
    #[schema(value_type = Vec<Event>)]
    pub(crate) events: Vec<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cursor: Option<String>,
}

/// The outcomes for several events, in their order.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = EmittedMany)]
pub(crate) struct EmittedManyBody {
    pub(crate) outcomes: Vec<EmitOutcome>,
}
