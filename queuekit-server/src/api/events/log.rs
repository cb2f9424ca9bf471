//! Reading the log of events.

use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use queuekit::events::{Event, EventFilter};
use queuekit::jobs::PageSize;

use super::CLOUD_EVENTS;
use crate::api::app::App;
use crate::api::params::Params;
use crate::web::off_the_runtime::off_the_runtime;
use crate::web::{Caller, Problem, Scope, response_budget};
use crate::wire::{EventQuery, EventsBody};

/// Lists events in the order in which they were stored.
#[utoipa::path(
    get, path = "/v1/events", tag = "events", security(("key" = [])), params(EventQuery),
    responses((status = 200, description = "A page.", body = EventsBody))
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
    let budget = app.budget(&caller).await?;
    let outbox = app.store().capabilities().outbox.ok_or_else(|| Problem::unsupported("events"))?;
    let page = outbox.list_events(&filter).await?;
    let seen = |event: &&Event| caller.sees_kind(event.kind.as_str());
    let cursor = page.cursor.map(|cursor| cursor.to_string());
    let wanted = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !wanted.contains(CLOUD_EVENTS) {
        let events: Vec<&Event> = page.events.iter().filter(seen).collect();
        let body = EventsBody { events, cursor };
        return response_budget::answer(budget, &body).await;
    }
    let write = || {
        let events = page.events.iter().filter(seen);
        let written: queuekit::Result<Vec<String>> = events.map(Event::to_cloud_event).collect();
        written.map(|written| format!("[{}]", written.join(",")))
    };
    let json = off_the_runtime(&caller, budget.bytes(), write).await?;
    let mut response = response_budget::answer_written(budget, json.into_bytes()).await?;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(CLOUD_EVENTS));
    if let Some(cursor) = cursor.and_then(|cursor| HeaderValue::try_from(cursor).ok()) {
        headers.insert("queuekit-cursor", cursor);
    }
    Ok(response)
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
