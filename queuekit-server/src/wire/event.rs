//! Which events are asked for; events and their outcomes in answers. The core serializes an event.

use queuekit::events::{EmitOutcome, Event};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Time;

/// A filter of events.
#[derive(Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventQuery {
    /// One type, all types below a prefix (`order.*`), or `*`.
    pub(crate) r#type: Option<String>,
    /// Only events stored at this time or later.
    #[param(value_type = Option<String>, format = DateTime)]
    pub(crate) from: Option<Time>,
    /// Only events stored before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    pub(crate) to: Option<Time>,
    /// Only events stored after this one, which must be in the log.
    #[param(value_type = Option<String>, format = Uuid)]
    pub(crate) after: Option<String>,
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub(crate) limit: Option<usize>,
    #[param(pattern = "^[0-9]{1,18}$")]
    pub(crate) cursor: Option<String>,
}

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
