//! Events: emitting them.

pub(super) mod log;

use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use queuekit::capability::EmitOutcome;
use queuekit::event::NewEvent;
use queuekit::{EventDraft, EventId, Metadata};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::app::App;
use super::creating::to_its_end;
use super::trace;
use super::wire::{Given, bounded, metadata, one_of};
use crate::http::json::{self, Raw};
use crate::http::{Caller, Problem, ToEnqueue};

const CLOUD_EVENT: &str = "application/cloudevents+json";
const CLOUD_EVENTS: &str = "application/cloudevents-batch+json";

/// An event to store.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewEvent)]
pub(super) struct EventBody {
    #[schema(value_type = Option<String>, format = Uuid)]
    id: Option<EventId>,
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$", example = "order.paid")]
    r#type: String,
    /// Any JSON; stored byte for byte.
    #[schema(value_type = Option<serde_json::Value>)]
    data: Option<Box<RawValue>>,
    #[schema(format = Byte)]
    data_base64: Option<String>,
    /// Ordered consumers get the events of one key one after the other.
    #[schema(min_length = 1, max_length = 256)]
    partition_key: Option<String>,
    /// Only one event of a type has it, as long as it is in the log.
    #[schema(min_length = 1, max_length = 256)]
    idempotency_key: Option<String>,
    #[schema(value_type = Option<std::collections::BTreeMap<String, String>>)]
    #[serde(default, deserialize_with = "metadata")]
    metadata: Option<Metadata>,
    /// Its deliveries wait so long.
    #[schema(maximum = 31622400000_u64)]
    delay_ms: Option<u64>,
}

/// Several events to store in one atomic step.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewEvents)]
pub(super) struct EventsBody {
    #[schema(max_items = 1000)]
    #[serde(deserialize_with = "bounded")]
    events: Vec<EventBody>,
}

/// What became of an event.
#[derive(Serialize, ToSchema)]
#[schema(as = Emitted)]
pub(super) struct EmittedBody {
    #[schema(value_type = String, format = Uuid)]
    id: EventId,
    /// emitted, duplicate or conflict.
    outcome: &'static str,
}

/// One event, or several.
pub(super) enum GivenBody {}

one_of! { GivenBody, "Emit" = EventBody, "NewEvent" | EventsBody, "NewEvents" }

/// The answer for one, or for several.
pub(super) enum AnswerBody {}

one_of! { AnswerBody, "EmitAnswer" = EmittedBody, "Emitted" | EmittedManyBody, "EmittedMany" }

/// What became of several.
#[derive(Serialize, ToSchema)]
#[schema(as = EmittedMany)]
pub(super) struct EmittedManyBody {
    outcomes: Vec<EmittedBody>,
}

/// Stores an event, or several in one atomic step, with a delivery for each subscription.
#[utoipa::path(
    post, path = "/v1/events", tag = "events", security(("key" = [])),
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 256)),
    request_body(content = GivenBody, content_type = "application/json"),
    responses(
        (status = 201, description = "Stored; of several, at least one.", body = AnswerBody),
        (status = 200, description = "It was there before.", body = AnswerBody),
        (status = 409, description = "Its id is taken by another event."),
    )
)]
pub(super) async fn emit(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Raw(body, ..): Raw<ToEnqueue>,
) -> Result<Response, Problem> {
    caller.need_events()?;
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let read = || drafts(kind, &headers, &body);
    let (drafts, is_one) = json::off_the_runtime(&body, read)?;
    caller.spend_batch(drafts.len())?;
    let mut events = Vec::with_capacity(drafts.len());
    for (item, draft) in drafts.into_iter().enumerate() {
        let event: NewEvent = draft.build().map_err(|error| match is_one {
            true => error,
            false => error.at_item(item),
        })?;
        caller.need_type(event.kind().as_str())?;
        events.push(event);
    }
    let outcomes = emitted(&app, caller, events).await?;
    let outcomes: Vec<_> = outcomes.into_iter().map(EmittedBody::of).collect();
    let status = match outcomes.iter().any(|outcome| outcome.outcome == "emitted") {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    match outcomes.into_iter() {
        outcomes if !is_one => {
            let outcomes = outcomes.collect();
            Ok((status, Answer(EmittedManyBody { outcomes })).into_response())
        }
        mut outcomes => match outcomes.next() {
            Some(EmittedBody { outcome: "conflict", id }) => {
                let detail = format!("id {id} is taken by an event of another type or other data");
                Err(Problem::conflict(detail))
            }
            Some(outcome) => Ok((status, Answer(outcome)).into_response()),
            None => Err(Problem::invalid("events", "there is no event")),
        },
    }
}

/// Stores events; the key has paid for each, and owes for what is delivered of them.
async fn emitted(
    app: &App,
    caller: Caller,
    events: Vec<NewEvent>,
) -> Result<Vec<EmitOutcome>, Problem> {
    let client = app.client().clone();
    if caller.per_second().is_none() {
        return Ok(client.emit_all(events).await?);
    }
    let emitting = async move {
        let outcomes = client.emit_counted(events).await?;
        caller.owe(outcomes.iter().map(|(_, deliveries)| deliveries).sum());
        Ok(outcomes.into_iter().map(|(outcome, _)| outcome).collect())
    };
    to_its_end(emitting).await
}

/// What is to be emitted, and whether it is one event.
fn drafts(
    kind: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<(Vec<EventDraft>, bool), Problem> {
    #[derive(Deserialize)]
    struct Probe<'a> {
        #[serde(borrow)]
        events: Option<&'a RawValue>,
    }
    let key = super::jobs::enqueue::idempotency_key(headers)?;
    let for_one = || {
        let detail = "the header Idempotency-Key is for one event; give each its own";
        Problem::invalid("Idempotency-Key", detail)
    };
    if kind.starts_with(CLOUD_EVENTS) {
        if key.is_some() {
            return Err(for_one());
        }
        return Ok((cloud_events(body)?, false));
    }
    if kind.starts_with(CLOUD_EVENT) {
        let draft = EventDraft::from_cloud_event(body)?;
        // Its own key is of its id and source: whoever sends another one means that.
        let draft = match key {
            Some(key) => draft.idempotency_key(key),
            None => draft,
        };
        return Ok((vec![draft], true));
    }
    let many = serde_json::from_slice::<Probe<'_>>(body).is_ok_and(|probe| probe.events.is_some());
    if !many {
        let mut event: EventBody = json::read(body)?;
        if key.is_some() && event.idempotency_key.is_some() && key != event.idempotency_key {
            let detail = "the header Idempotency-Key and the field idempotency_key differ";
            return Err(Problem::invalid("idempotency_key", detail));
        }
        event.idempotency_key = key.or(event.idempotency_key);
        return Ok((vec![event.draft(headers)?], true));
    }
    if key.is_some() {
        return Err(for_one());
    }
    let EventsBody { events } = json::read(body)?;
    let build = |(item, event): (usize, EventBody)| {
        event.draft(headers).map_err(|problem| problem.at_item(item))
    };
    let drafts: Result<_, Problem> = events.into_iter().enumerate().map(build).collect();
    Ok((drafts?, false))
}

fn cloud_events(body: &[u8]) -> Result<Vec<EventDraft>, Problem> {
    #[derive(Deserialize)]
    struct Events<'a>(#[serde(borrow, deserialize_with = "bounded")] Vec<&'a RawValue>);

    let Events(each) = serde_json::from_slice(body).map_err(|error| json::refused(&error))?;
    let read = |(item, event): (usize, &RawValue)| {
        let draft = EventDraft::from_cloud_event(event.get().as_bytes());
        draft.map_err(|error| Problem::from(error.at_item(item)))
    };
    each.into_iter().enumerate().map(read).collect()
}

impl EventBody {
    fn draft(self, headers: &HeaderMap) -> Result<EventDraft, Problem> {
        let given = Given { json: self.data, base64: self.data_base64 };
        let data = given.bytes("data")?.unwrap_or_else(|| "null".into());
        let metadata = trace::adopt(headers, self.metadata).unwrap_or_default();
        let mut draft = EventDraft::new(self.r#type, data).metadata(metadata);
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

impl EmittedBody {
    fn of(outcome: EmitOutcome) -> Self {
        match outcome {
            EmitOutcome::Emitted { id } => Self { id, outcome: "emitted" },
            EmitOutcome::Duplicate { existing: id } => Self { id, outcome: "duplicate" },
            EmitOutcome::Conflict { existing: id } => Self { id, outcome: "conflict" },
        }
    }
}
