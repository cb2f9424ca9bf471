//! Events: reading the log.

use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use queuekit::capability::EventFilter;
use queuekit::event::Event;
use queuekit::{EventId, Metadata, PageSize};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::CLOUD_EVENTS;
use crate::api::app::App;
use crate::api::params::Params;
use crate::api::portion::Portion;
use crate::api::wire::{Shown, Time};
use crate::http::{Caller, Problem, Scope, held};

/// One page of the log.
#[derive(Serialize, ToSchema)]
#[schema(as = Events)]
pub(in crate::api) struct LogBody<'a> {
    events: Vec<StoredBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// An event of the log.
#[derive(Serialize, ToSchema)]
#[schema(as = Event)]
struct StoredBody<'a> {
    #[schema(value_type = String, format = Uuid)]
    id: EventId,
    r#type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    data: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<&'a str>,
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    metadata: &'a Metadata,
    #[schema(value_type = String, format = DateTime)]
    emitted_at: Time,
}

/// Which events.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::api) struct EventQuery {
    /// A type, what begins with some parts (`order.*`), or `*`.
    r#type: Option<String>,
    /// Only stored at this instant or later.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<Time>,
    /// Only stored before this instant.
    #[param(value_type = Option<String>, format = DateTime)]
    to: Option<Time>,
    /// Behind this event, which is in the log.
    #[param(value_type = Option<String>, format = Uuid)]
    after: Option<String>,
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
    #[param(pattern = "^[0-9]{1,18}$")]
    cursor: Option<String>,
}

/// The log, in the order in which events were stored.
#[utoipa::path(
    get, path = "/v1/events", tag = "events", security(("key" = [])), params(EventQuery),
    responses((status = 200, description = "A page.", body = LogBody))
)]
pub(in crate::api) async fn list_events(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Params(query): Params<EventQuery>,
) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    caller.need_events()?;
    let filter = query.filter()?;
    let room = app.room(&caller).await?;
    let (events, cursor) = page(&app, &caller, filter).await?;
    let cursor = cursor.map(|cursor| cursor.to_string());
    let wanted = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !wanted.contains(CLOUD_EVENTS) {
        let body = LogBody { events: events.iter().map(StoredBody::of).collect(), cursor };
        return held::answer(room, serde_json::to_vec(&body).unwrap_or_default()).await;
    }
    let written: queuekit::Result<Vec<String>> = events.iter().map(Event::to_cloud_event).collect();
    let json = format!("[{}]", written?.join(","));
    let mut response = held::answer(room, json.into_bytes()).await?;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(CLOUD_EVENTS));
    if let Some(cursor) = cursor.and_then(|cursor| HeaderValue::try_from(cursor).ok()) {
        headers.insert("queuekit-cursor", cursor);
    }
    Ok(response)
}

/// What the caller may see of a page, which ends when it is long enough or large enough, and where
/// to go on.
async fn page(
    app: &App,
    caller: &Caller,
    mut filter: EventFilter,
) -> Result<(Vec<Event>, Option<u64>), Problem> {
    let outbox = app.store().capabilities().outbox.ok_or_else(|| Problem::unsupported("events"))?;
    let (mut portion, mut events) = (Portion::new(filter.limit.get()), Vec::new());
    loop {
        let part = portion.part();
        filter.limit = PageSize::new(part)?;
        let page = outbox.list_events(&filter).await?;
        let is_short = page.events.len() < part;
        let is_enough = portion.took(page.events.iter().map(size));
        let seen = page.events.into_iter().filter(|event| caller.sees_type(event.kind.as_str()));
        events.extend(seen);
        if page.cursor.is_none() || is_short || is_enough {
            return Ok((events, page.cursor));
        }
        filter.cursor = page.cursor;
    }
}

fn size(event: &Event) -> usize {
    event.data.len() + event.metadata.bytes()
}

impl<'a> StoredBody<'a> {
    fn of(event: &'a Event) -> Self {
        let data = Shown::of(&event.data);
        Self {
            id: event.id,
            r#type: event.kind.as_str(),
            data: data.json,
            data_base64: data.base64,
            partition_key: event.partition_key.as_ref().map(|key| key.as_str()),
            idempotency_key: event.idempotency_key.as_ref().map(|key| key.as_str()),
            metadata: &event.metadata,
            emitted_at: Time(event.emitted_at),
        }
    }
}

impl EventQuery {
    fn filter(self) -> Result<EventFilter, Problem> {
        let cursor = self.cursor.map(|text| text.parse()).transpose();
        let unread = |_| Problem::bad_request("the query: cursor must be one that a page answered");
        let wrong = |field| move |error| Problem::from(error).in_field(field);
        let pattern = self.r#type.as_deref().map(str::parse).transpose();
        let after = self.after.as_deref().map(str::parse).transpose();
        Ok(EventFilter {
            pattern: pattern.map_err(wrong("type"))?,
            from: self.from.map(|time| time.0),
            to: self.to.map(|time| time.0),
            after: after.map_err(wrong("after"))?,
            cursor: cursor.map_err(unread)?,
            limit: self.limit.map(PageSize::new).transpose()?.unwrap_or_default(),
            until: None,
        })
    }
}
