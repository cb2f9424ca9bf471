//! `/ui/bulk`: one action on all jobs of a filter, counted first.

use std::time::Duration;

use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::Response;
use queuekit::jobs::{BulkAction, BulkActionName as Name};
use serde::Deserialize;

use super::filter::Filter;
use super::matched::Matched;
use super::run_address::begin;
use super::text::{jobs_url, query};
use crate::grammar::Span;
use crate::ui::failure::Failure;
use crate::ui::form::Form;
use crate::ui::run::Task;
use crate::ui::view::{BulkAsk, BulkLink, Page};
use crate::ui::viewer::Viewer;
use crate::web::Scope;
use crate::wire::BulkBody;

/// The longest filter and the longest reason, since runs are remembered.
const TEXT_BYTES: usize = 16 * 1024;

/// An action on all that match: its name, its verb, what it does, and whether it destroys.
type OnAll = (Name, &'static str, &'static str, bool);

const ACTIONS: [OnAll; 4] = [
    (Name::Retry, "Retry", "Dead and cancelled jobs run again, with all their attempts.", false),
    (Name::Cancel, "Cancel", "Running jobs are asked to stop; others do not run any more.", true),
    (Name::DeadLetter, "Dead-letter", "They stay, and run only if they are retried.", true),
    (Name::Delete, "Delete", "They are gone for good, with their errors and results.", true),
];

/// Times over which a retry can be spread.
const SPREADS: [(&str, &str); 4] =
    [("0s", "at once"), ("1m", "1 minute"), ("10m", "10 minutes"), ("1h", "1 hour")];

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    action: String,
    q: String,
    over: String,
}

/// The links of a list to the actions on all of it.
pub(super) fn links(viewer: &Viewer, filter: &Filter) -> Vec<BulkLink> {
    if !viewer.caller().has(Scope::Admin) || filter.is_empty() || filter.error.is_some() {
        return Vec::new();
    }
    let link = |(action, verb, _, is_danger): OnAll| BulkLink {
        label: format!("{verb} all that match"),
        url: url(viewer.base(), action.as_str(), &filter.text),
        is_danger,
        impossible: filter.allowing(action).err(),
    };
    ACTIONS.map(link).into()
}

pub(super) fn url(base: &str, action: &str, words: &str) -> String {
    format!("{base}/ui/bulk?action={action}&q={}", query(words))
}

/// Counts, and asks.
pub(super) async fn ask(viewer: Viewer, Query(asked): Query<Asked>) -> Result<Response, Failure> {
    viewer.caller().need(Scope::Admin)?;
    let Some((name, verb, detail, is_danger)) = named(&asked.action) else {
        return Err(Failure::not_found("this action"));
    };
    let filter = meant(&asked.q)?;
    let now = viewer.ui.0.board.now().await;
    let allowing = filter.allowing(name);
    let matched = match &allowing {
        Ok(allowing) => {
            let body = body(name, allowing, "", Duration::ZERO);
            Matched::count(&viewer, allowing, body, &now).await?
        }
        Err(_) => Matched::none(),
    };
    let none = matched.is_none().then_some("No job matches that allows it");
    let action = name.as_str();
    let told = matched.told();
    let spread = |(value, label): (&'static str, &'static str)| {
        let chosen = if asked.over.is_empty() { "0s" } else { asked.over.as_str() };
        (value, label, value == chosen)
    };
    let spreads = if name == Name::Retry { SPREADS.map(spread).into() } else { Vec::new() };
    let base = viewer.base();
    let page = BulkAsk {
        shell: viewer.shell(Page::Jobs, &format!("{verb} many jobs"), &now),
        action,
        question: format!("{verb} {told}?"),
        detail: detail.to_owned(),
        filter: filter.text.clone(),
        pills: filter.bar(&viewer, &now, "", None).pills,
        matched: matched.jobs,
        or_more: matched.or_more,
        is_danger,
        type_to_confirm: matched.to_type(action).filter(|_| is_danger),
        spreads,
        wants_reason: name == Name::DeadLetter,
        label: format!("{verb} {told}"),
        impossible: allowing.err().or(none),
        url: format!("{base}/ui/bulk"),
        back: jobs_url(base, &filter.text),
        cli: filter.cli(&format!("queuekit job {action}")),
    };
    viewer.show(&page).await
}

/// Begins.
pub(super) async fn act(viewer: Viewer, form: Form) -> Result<Response, Failure> {
    let Some((action, _, _, is_danger)) = named(form.get("action")) else {
        return Err(Failure::not_found("this action"));
    };
    let filter = meant(form.get("q"))?.allowing(action).map_err(refused)?;
    let matched = Matched::of(&form);
    let typed = form.get("typed");
    if let Some(word) = matched.to_type(action.as_str()).filter(|word| is_danger && word != typed) {
        return Err(refused(&format!("type {word} to confirm, since these are many jobs")));
    }
    let over = match form.get("over") {
        "" => Duration::ZERO,
        text => text.parse::<Span>().map_err(|why| refused(&format!("over: {why}")))?.0,
    };
    let body = body(action, &filter, bounded("reason", form.get("reason"))?, over);
    begin(&viewer, Task::Bulk { words: filter.text, body: Box::new(body) }, matched.expected())
}

/// What an action is called: `Retry`.
pub(super) fn verb(action: &str) -> Option<&'static str> {
    named(action).map(|(_, verb, ..)| verb)
}

fn named(word: &str) -> Option<OnAll> {
    ACTIONS.into_iter().find(|(action, ..)| action.as_str() == word)
}

fn body(action: Name, filter: &Filter, reason: &str, over: Duration) -> BulkBody {
    let action = match action {
        Name::Retry if over.is_zero() => BulkAction::Retry,
        Name::Retry => BulkAction::RetryOver(over),
        Name::Cancel => BulkAction::Cancel,
        Name::Delete => BulkAction::Delete,
        Name::DeadLetter => BulkAction::DeadLetter(reason.to_owned()),
        Name::Reschedule => BulkAction::Reschedule(over),
    };
    let mut body = BulkBody::new(&action, filter.body.clone());
    body.reason = body.reason.filter(|reason| !reason.is_empty());
    body
}

/// A filter that names something: no page acts on all jobs of all queues.
fn meant(words: &str) -> Result<Filter, Failure> {
    let filter = Filter::read(bounded("filter", words)?);
    match &filter.error {
        Some(error) => Err(refused(error)),
        None if filter.is_empty() => Err(refused("the filter names nothing: add a term")),
        None => Ok(filter),
    }
}

fn bounded<'t>(name: &str, text: &'t str) -> Result<&'t str, Failure> {
    match text.len() > TEXT_BYTES {
        true => Err(refused(&format!("the {name} must have at most {TEXT_BYTES} bytes"))),
        false => Ok(text),
    }
}

fn refused(detail: &str) -> Failure {
    Failure::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
}
