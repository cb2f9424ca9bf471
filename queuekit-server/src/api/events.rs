//! Emitting events.

pub(super) mod log;
pub(super) mod newest;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use queuekit::events::{EmitOutcome, EventDraft, NewEvent};
use queuekit::{Client, Error, ErrorKind};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::app::App;
use super::store_call::in_store;
use super::trace_context;
use crate::web::json::{self, Raw};
use crate::web::long_strings::without_long_strings;
use crate::web::store_calls::{self, CallSort};
use crate::web::{Caller, EnqueueScope, Problem, parsed_bytes};
use crate::wire::{EmittedManyBody, NewEventBody, NewEventsBody, bounded, one_of_schema};

const CLOUD_EVENT: &str = "application/cloudevents+json";
const CLOUD_EVENTS: &str = "application/cloudevents-batch+json";

/// One event, or several.
pub(super) enum GivenBody {}

one_of_schema! { GivenBody, "Emit" = NewEventBody, "NewEvent" | NewEventsBody, "NewEvents" }

/// The answer for one event, or for several.
pub(super) enum AnswerBody {}

one_of_schema! {
    AnswerBody, "EmitAnswer" = EmitOutcome, "EmitOutcome" | EmittedManyBody, "EmittedMany"
}

/// Stores an event, or several in one atomic step, with a delivery for each subscription.
///
/// Events that make more than 10,000 deliveries are stored in several steps, in their order.
#[utoipa::path(
    post, path = "/v1/events", tag = "events", security(("key" = [])),
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 256)),
    request_body(content = GivenBody, content_type = "application/json"),
    responses(
        (status = 201, description = "Stored; of several, at least one.", body = AnswerBody),
        (status = 200, description = "It was there before.", body = AnswerBody),
        (status = 409, description = "Another event has the id."),
    )
)]
pub(super) async fn emit(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Raw<EnqueueScope>,
) -> Result<Response, Problem> {
    caller.need_events()?;
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let ((drafts, is_one), mut budget) = body.parse(|body| drafts(kind, &headers, body)).await?;
    caller.spend_batch(drafts.len())?;
    let mut events = Vec::with_capacity(drafts.len());
    for (item, draft) in drafts.into_iter().enumerate() {
        let event: NewEvent = draft.build().map_err(|error| match is_one {
            true => error,
            false => error.at_item(item),
        })?;
        caller.need_kind(event.kind().as_str())?;
        events.push(event);
    }
    let parsed = |event: &NewEvent| parsed_bytes::of_item(event.data(), event.metadata());
    budget.set_parsed(events.iter().map(parsed).sum())?;
    let sending = trace_context::send_events(&app, &headers, &mut events);
    // Deliveries are not charged: a key that emits does not choose the subscribers.
    let sizes = events.iter().map(|event| event.data().len() + event.metadata().bytes());
    let call = (CallSort::Enqueue, store_calls::items(sizes));
    let client = app.client().clone();
    let emitting = async move { Ok(emit_all(&client, events).await?) };
    let outcomes = sending.run(in_store(&app, &caller, call, budget, emitting)).await?;
    let is_new = |outcome: &_| matches!(outcome, EmitOutcome::Emitted { .. });
    let status = match outcomes.iter().any(is_new) {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    match outcomes.into_iter() {
        outcomes if !is_one => {
            let outcomes = outcomes.collect();
            Ok((status, Answer(EmittedManyBody { outcomes })).into_response())
        }
        mut outcomes => match outcomes.next() {
            Some(EmitOutcome::Conflict { existing: id }) => {
                let detail = format!("an event with another type or other data has the id {id}");
                Err(Problem::conflict(detail))
            }
            Some(outcome) => Ok((status, Answer(outcome)).into_response()),
            None => Err(Problem::invalid("events", "there is no event")),
        },
    }
}

/// Emits all events in one step, or in several if they make too many deliveries for one: the
/// subscriptions of others must not make a call fail.
async fn emit_all(client: &Client, events: Vec<NewEvent>) -> queuekit::Result<Vec<EmitOutcome>> {
    let (mut outcomes, mut parts) = (Vec::with_capacity(events.len()), vec![events]);
    while let Some(mut part) = parts.pop() {
        match client.emit_all(part.iter().cloned()).await {
            Ok(emitted) => outcomes.extend(emitted),
            Err(error) if part.len() > 1 && is_too_many_deliveries(&error) => {
                let rest = part.split_off(part.len() / 2);
                parts.extend([rest, part]);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(outcomes)
}

fn is_too_many_deliveries(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Invalid { item: None, field: "events per call", .. })
}

/// The events to emit, and whether it is a single event.
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
        let detail = "the header Idempotency-Key is for one event; give each event its own \
                      idempotency_key";
        Problem::invalid("Idempotency-Key", detail)
    };
    if kind.starts_with(CLOUD_EVENTS) {
        if key.is_some() {
            return Err(for_one());
        }
        return Ok((cloud_events(body)?, false));
    }
    if kind.starts_with(CLOUD_EVENT) {
        let draft = cloud_event(body)?;
        // By default its key is made of its id and source; the header overrides that.
        let draft = match key {
            Some(key) => draft.idempotency_key(key),
            None => draft,
        };
        return Ok((vec![draft], true));
    }
    let many = serde_json::from_slice::<Probe<'_>>(body).is_ok_and(|probe| probe.events.is_some());
    if !many {
        let mut event: NewEventBody = json::read(body)?;
        if key.is_some() && event.idempotency_key.is_some() && key != event.idempotency_key {
            let detail = "the header Idempotency-Key and the field idempotency_key differ";
            return Err(Problem::invalid("idempotency_key", detail));
        }
        event.idempotency_key = key.or(event.idempotency_key);
        return Ok((vec![event.draft()?], true));
    }
    if key.is_some() {
        return Err(for_one());
    }
    let NewEventsBody { events } = json::read(body)?;
    let build = |(item, event): (usize, NewEventBody)| {
        event.draft().map_err(|problem| problem.at_item(item))
    };
    let drafts: Result<_, Problem> = events.into_iter().enumerate().map(build).collect();
    Ok((drafts?, false))
}

fn cloud_events(body: &[u8]) -> Result<Vec<EventDraft>, Problem> {
    #[derive(Deserialize)]
    struct Events<'a>(#[serde(borrow, deserialize_with = "bounded")] Vec<&'a RawValue>);

    fn read(json: &[u8]) -> Result<Vec<&RawValue>, Problem> {
        let read = serde_json::from_slice(json).map(|Events(each)| each);
        read.map_err(|error| json::refused(&error))
    }
    if let Some(short) = without_long_strings(body) {
        read(&short)?;
    }
    let build = |(item, event): (usize, &RawValue)| {
        cloud_event(event.get().as_bytes()).map_err(|error| Problem::from(error.at_item(item)))
    };
    read(body)?.into_iter().enumerate().map(build).collect()
}

fn cloud_event(json: &[u8]) -> queuekit::Result<EventDraft> {
    // If it is refused, the message must not be as long as a string in it.
    if let Some(short) = without_long_strings(json) {
        drop(EventDraft::from_cloud_event(&short)?);
    }
    EventDraft::from_cloud_event(json)
}

#[cfg(test)]
mod tests {
    use queuekit::events::{EventFilter, SubscriptionDraft};
    use queuekit::memory::MemoryStore;

    use super::*;

    /// Guard: ten subscriptions of one key had batches of others refused.
    #[tokio::test]
    async fn s6_events_with_too_many_deliveries_for_one_step_are_stored_in_several() {
        const EVENTS: usize = 150;
        let client = Client::new(MemoryStore::new());
        for number in 0..101 {
            let wants = SubscriptionDraft::new(format!("c{number}").as_str(), "*");
            client.consumers().put(wants).await.unwrap();
        }
        let event = |number: usize| EventDraft::new("e", number.to_string()).build().unwrap();
        let events: Vec<NewEvent> = (0..EVENTS).map(event).collect();
        let ids: Vec<_> = events.iter().map(NewEvent::id).collect();
        let outcomes = emit_all(&client, events.clone()).await.unwrap();
        let emitted = outcomes.iter().map(|outcome| match outcome {
            EmitOutcome::Emitted { id, .. } => *id,
            other => panic!("{other:?}"),
        });
        assert!(emitted.eq(ids.iter().copied()));
        let again = emit_all(&client, events).await.unwrap();
        assert!(again.iter().all(|outcome| matches!(outcome, EmitOutcome::Duplicate { .. })));
        let log = client.events().list(&EventFilter::default()).await.unwrap();
        let stored: Vec<_> = log.events.iter().map(|event| event.id).collect();
        assert_eq!(stored, ids[..stored.len()], "in their order");
    }
}
