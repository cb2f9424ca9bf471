//! The replay of a consumer: events of the log are counted first, and then delivered again.

use axum::http::StatusCode;
use axum::response::Response;
use queuekit::events::ConsumerName;
use serde_json::value::RawValue;

use super::filter::argument;
use super::run_address::begin;
use super::text::query;
use crate::grammar::Since;
use crate::ui::failure::Failure;
use crate::ui::form::Form;
use crate::ui::redirect::redirect;
use crate::ui::run::Task;
use crate::ui::view::{Count, Replay};
use crate::ui::viewer::Viewer;
use crate::web::Scope;
use crate::wire::{EventQuery, EventsBody, SubscriptionBody, Time};

/// Pages of the log that a count reads, and events of each.
const PAGES: usize = 10;
const PAGE: usize = 1000;
/// The most that are counted.
const MOST: u64 = 10_000;

/// The form, with how many events match if a time was asked for: that of a count.
pub(super) async fn form(
    viewer: &Viewer,
    body: &SubscriptionBody,
    asked: Option<&str>,
) -> Result<Replay, Failure> {
    let name = &body.consumer;
    let impossible = why_not(viewer);
    let asked = asked.filter(|_| impossible.is_none());
    let matched = match asked {
        Some(from) => Some(count(viewer, &body.events, time(from)?).await?),
        None => None,
    };
    Ok(Replay {
        url: format!("{}/ui/consumers/{name}/replay", viewer.base()),
        from: asked.unwrap_or_default().to_owned(),
        and_more: matched.is_some_and(|(_, and_more)| and_more),
        matched: matched.map(|(count, _)| Count::exact(count)),
        // A form that is sent twice delivers once.
        name: format!("dashboard {:.3}", Time(viewer.app().now())),
        cli: cli(name, asked.filter(|from| !from.is_empty())),
        impossible,
    })
}

/// What the form asks for: a count, or the deliveries.
pub(super) async fn act(
    viewer: &Viewer,
    name: ConsumerName,
    form: &Form,
) -> Result<Response, Failure> {
    let from = time(form.get("from").trim())?;
    if form.get("step") != "deliver" {
        // The time is absolute from now on, so that what is delivered is what was counted.
        let from = from.map(|from| from.to_string()).unwrap_or_default();
        let url = url(viewer.base(), name.as_str(), &from);
        return Ok(redirect(&url.unwrap_or_default()));
    }
    let expected = form.get("matched").parse().ok();
    let replay = form.get("name").to_owned();
    begin(viewer, Task::Replay { consumer: name, name: replay, from }, expected)
}

/// The page of a consumer with the count of events since this time.
pub(super) fn url(base: &str, consumer: &str, from: &str) -> Option<String> {
    let name = ConsumerName::new(consumer).ok()?;
    Some(format!("{base}/ui/consumers/{name}?replay={}#replay", query(from)))
}

pub(super) fn cli(consumer: &str, from: Option<&str>) -> String {
    let from = from.map(|from| format!(" --from {}", argument(from))).unwrap_or_default();
    format!("queuekit subscription replay {consumer} --name 'again'{from}")
}

fn why_not(viewer: &Viewer) -> Option<String> {
    let caller = viewer.caller();
    if !caller.has(Scope::Manage) {
        return Some("Your key lacks the scope manage".to_owned());
    }
    let reads = caller.need_events().is_ok() && !caller.is_bound_to_kinds();
    (!reads).then(|| "Your key may not read all events".to_owned())
}

/// A duration ago or a time; none for the whole log.
pub(super) fn time(text: &str) -> Result<Option<Time>, Failure> {
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = |why| {
        let detail = format!("events since: {why}");
        Failure::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    };
    text.parse::<Since>().map(|Since(at)| Some(Time::from(at))).map_err(wrong)
}

/// How many events match, and whether there are more.
async fn count(viewer: &Viewer, types: &str, from: Option<Time>) -> Result<(u64, bool), Failure> {
    let r#type = Some(types.to_owned());
    let mut asked = EventQuery { r#type, from, ..EventQuery::default() };
    let mut matched = 0;
    // What follows a full page may be of other types: a search for one more event tells.
    for limit in [PAGE; PAGES].into_iter().chain([1]) {
        asked.limit = Some(limit);
        let answer = viewer.find("/v1/events", &asked).await?;
        let page: EventsBody<&RawValue> = answer.read()?;
        matched += page.events.len() as u64;
        asked.cursor = page.cursor;
        if asked.cursor.is_none() {
            break;
        }
    }
    Ok((matched.min(MOST), matched > MOST || asked.cursor.is_some()))
}
