//! `/ui/consumers/NAME`: one consumer of events.

use axum::extract::{Path, Query};
use axum::http::Method;
use axum::response::Response;
use queuekit::events::ConsumerName;
use serde::Deserialize;

use super::events::consumer;
use super::history::{self, Range, RangeQuery};
use super::replay;
use crate::ui::failure::Failure;
use crate::ui::form::Form;
use crate::ui::redirect::redirect;
use crate::ui::view::{Action, Consumer, Fact, FactValue, Facts, Ms, Page, Tone};
use crate::ui::viewer::Viewer;
use crate::web::Scope;
use crate::wire::{NewSubscriptionBody, SubscriptionBody};

#[derive(Deserialize)]
pub(super) struct Asked {
    /// Counts the events since this time for a replay; empty for all.
    replay: Option<String>,
}

pub(super) async fn show(
    viewer: Viewer,
    Path(name): Path<String>,
    Query(range): Query<RangeQuery>,
    Query(Asked { replay }): Query<Asked>,
) -> Result<Response, Failure> {
    let name = ConsumerName::new(name)?;
    let answer = viewer.get(&format!("/v1/subscriptions/{name}")).await?;
    let body: SubscriptionBody = answer.read()?;
    let now = viewer.ui.0.board.now().await;
    let base = viewer.base();
    let range = Range::of(&range);
    let charts = history::charts(&viewer, Some(&body.queue), range, &now).await?;
    let page = Consumer {
        shell: viewer.shell(Page::Events, name.as_str(), &now),
        row: consumer(&body, base),
        queue_url: format!("{base}/ui/queues/{}", body.queue),
        ranges: range.links(base, &format!("/ui/consumers/{name}")),
        throughput: charts.throughput,
        facts: facts(&body),
        actions: actions(&viewer, &body),
        replay: replay::form(&viewer, &body, replay.as_deref()).await?,
        cli: "queuekit subscription list".to_owned(),
    };
    viewer.show(&page).await
}

fn facts(body: &SubscriptionBody) -> Facts {
    let text = |name, value: String| Fact { name, value: FactValue::Text(value) };
    let mut items = vec![
        text("Maximum attempts", body.max_attempts.to_string()),
        text("Timeout", Ms(body.timeout_ms).to_string()),
    ];
    let delay = Some(body.delay_ms).filter(|delay| *delay > 0);
    items.extend(delay.map(|delay| text("Delay", Ms(delay).to_string())));
    items.extend(body.retry.clone().map(|retry| text("Retry policy", retry)));
    Facts { items }
}

fn actions(viewer: &Viewer, body: &SubscriptionBody) -> Vec<Action> {
    vec![turn(viewer, &body.consumer, body.enabled)]
}

/// Disables a consumer that is enabled, or enables it.
pub(super) fn turn(viewer: &Viewer, name: &str, is_enabled: bool) -> Action {
    let (verb, label) = if is_enabled { ("disable", "Disable") } else { ("enable", "Enable") };
    let url = format!("{}/ui/consumers/{name}/{verb}", viewer.base());
    let mut action = Action::new(verb, url, &viewer.csrf(), format!("{label} {name}"))
        .cli(format!("queuekit subscription {verb} {name}"));
    let lacks = !viewer.caller().has(Scope::Manage);
    action.impossible = lacks.then(|| "Your key lacks the scope manage".to_owned());
    match is_enabled {
        false => action.tone(Tone::Primary),
        true => action.confirm(
            format!("Disable {name}?"),
            "Events make no deliveries for it until it is enabled; a replay can make them later.",
        ),
    }
}

pub(super) async fn act(
    viewer: Viewer,
    Path((name, action)): Path<(String, String)>,
    form: Form,
) -> Result<Response, Failure> {
    let name = ConsumerName::new(name)?;
    let enabled = match action.as_str() {
        "enable" => true,
        "disable" => false,
        "replay" => return replay::act(&viewer, name, &form).await,
        _ => return Err(Failure::not_found("this action")),
    };
    let path = format!("/v1/subscriptions/{name}");
    let answer = viewer.get(&path).await?;
    let body: SubscriptionBody = answer.read()?;
    let new = NewSubscriptionBody {
        events: body.events,
        ordered: body.ordered,
        fair: body.fair,
        enabled: Some(enabled),
        max_attempts: Some(body.max_attempts),
        timeout_ms: Some(body.timeout_ms),
        delay_ms: Some(body.delay_ms),
        retry: body.retry,
    };
    viewer.call(Method::PUT, &path, &new).await?;
    Ok(redirect(&format!("{}/ui/consumers/{name}?did=consumer", viewer.base())))
}
