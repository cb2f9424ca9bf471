//! `/ui/events`: the consumers, and the log with its newest events first.

use std::collections::HashMap;

use axum::extract::Query;
use axum::response::Response;
use queuekit::events::{Event, EventPattern, Subscription};
use queuekit::queues::Queue;
use queuekit::{Status, Timestamp};
use serde::Deserialize;

use super::job_row::brief;
use super::queue_rows::{queues_of, store_time};
use super::text::query;
use crate::api::newest_events;
use crate::ui::attention::LAG;
use crate::ui::failure::Failure;
use crate::ui::live::{NewEvents, Snapshot};
use crate::ui::view::{
    ConsumerRow, ConsumerTable, Count, EventLog, EventRow, Events, Mark, Ms, Newer, Page, Rate,
    When,
};
use crate::ui::viewer::Viewer;
use crate::wire::{ConsumerStatsBody, RetentionBody, SubscriptionBody, SubscriptionsBody};

/// The rate of a consumer is that of this number of minutes.
const RATE_MINUTES: usize = 10;
/// A consumer fails if this share of its last deliveries did, in percent.
const FAILING: u8 = 10;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    types: String,
    /// The place in the log up to which events are shown.
    up_to: Option<u64>,
}

pub(super) async fn show(viewer: Viewer, Query(asked): Query<Asked>) -> Result<Response, Failure> {
    let now = viewer.ui.0.board.now().await;
    let at = store_time(&viewer, &now);
    let found: SubscriptionsBody = viewer.get("/v1/subscriptions").await?.read()?;
    let log = log(&viewer, &asked, at).await?;
    let page = Events {
        shell: viewer.shell(Page::Events, "Events and consumers", &now),
        consumers: table(&viewer, found.subscriptions, &now),
        types: asked.types,
        log,
        retention: retention(&viewer).await?,
    };
    viewer.show(&page).await
}

/// The consumers as they are now; none if they were not read yet.
pub(in crate::ui) fn live(viewer: &Viewer, now: &Snapshot) -> Option<ConsumerTable> {
    let seen =
        |one: &&Subscription| viewer.caller().sees_queue(&format!("event.{}", one.consumer()));
    let all = now.extras.consumers.as_ref()?.iter().filter(seen);
    let all = all.map(|one| SubscriptionBody::of(one, None)).collect();
    Some(table(viewer, all, now))
}

fn table(viewer: &Viewer, consumers: Vec<SubscriptionBody>, now: &Snapshot) -> ConsumerTable {
    let queues: HashMap<&str, &Queue> =
        queues_of(viewer, now).map(|queue| (queue.name.as_str(), queue)).collect();
    let rows = consumers.into_iter().map(|mut one| {
        // A list has no figures of its own: those of its queue are on the board.
        let queue = queues.get(one.queue.as_str());
        one.stats = queue.map(|queue| figures(queue));
        let mut row = consumer(&one, viewer.base());
        // The list does not know how many of the last deliveries failed, but whether some died.
        if row.mark.shape == "ok"
            && queue.is_some_and(|queue| queue.counts.get(Status::Dead).value > 0)
        {
            row.mark = Mark::new("warning", "has dead");
        }
        row.rate = queue.and_then(|queue| rate(queue, now));
        row
    });
    ConsumerTable { rows: rows.collect() }
}

/// How many deliveries it completes a minute; none until the minutes were read.
fn rate(queue: &Queue, now: &Snapshot) -> Option<Rate> {
    let trend = &now.extras.trend;
    let completed = trend.completed_lately(&queue.name, RATE_MINUTES, queue.as_of)?;
    Some(Rate { completed, minutes: RATE_MINUTES as u64 })
}

/// Whether a page of this query shows the end of the log, and the viewer may see that it grows.
pub(in crate::ui) fn is_log_live(viewer: &Viewer, query: &str) -> bool {
    let asked: Asked = serde_urlencoded::from_str(query).unwrap_or_default();
    let is_known = asked.types.trim().is_empty() || pattern(&asked.types).is_some();
    is_known && asked.up_to.is_none() && viewer.caller().need_events().is_ok()
}

/// The link to the same log with the events that came since; the log itself does not move.
pub(in crate::ui) fn newer(viewer: &Viewer, query: &str, events: &NewEvents, since: u64) -> Newer {
    let asked: Asked = serde_urlencoded::from_str(query).unwrap_or_default();
    let pattern = pattern(&asked.types);
    let told = events.count(|kind| {
        viewer.caller().sees_kind(kind.as_str())
            && pattern.as_ref().is_none_or(|pattern| pattern.matches(kind))
    });
    let more = if told.and_more { "+" } else { "" };
    let newer = format!("{}{more} newer", Count::exact(told.count));
    let url = newest_url(viewer.base(), asked.types.trim());
    Newer { told: if told.count == 0 { String::new() } else { newer }, url, since: Some(since) }
}

fn pattern(types: &str) -> Option<EventPattern> {
    types.trim().parse().ok()
}

fn newest_url(base: &str, types: &str) -> String {
    match types {
        "" => format!("{base}/ui/events"),
        types => format!("{base}/ui/events?types={}", query(types)),
    }
}

/// The newest events, or why there are none.
async fn log(viewer: &Viewer, asked: &Asked, now: Timestamp) -> Result<EventLog, Failure> {
    let (types, base) = (asked.types.trim(), viewer.base());
    let newest = asked.up_to.map(|_| newest_url(base, types));
    let mut log = EventLog { newest, ..EventLog::default() };
    let pattern = Some(types).filter(|types| !types.is_empty()).map(str::parse::<EventPattern>);
    let pattern = match pattern.transpose() {
        Ok(pattern) => pattern,
        Err(error) => {
            log.error = Some(error.to_string());
            return Ok(log);
        }
    };
    viewer.count_call();
    let (app, caller) = (viewer.app(), viewer.caller());
    let found = match newest_events(app, caller, pattern, asked.up_to).await {
        Ok(found) => found,
        Err(problem) => {
            let failure = Failure::from(problem);
            // The key is not for events, or the store has none.
            return if failure.is_lack() { Ok(log) } else { Err(failure) };
        }
    };
    let since = asked.up_to.is_none().then_some(found.up_to);
    log.newer = Newer { told: String::new(), url: newest_url(base, types), since };
    log.rows = found.events.iter().map(|event| row(viewer, event, now)).collect();
    let types = query(types);
    log.older = found.older.map(|up_to| format!("{base}/ui/events?types={types}&up_to={up_to}"));
    log.is_cut = found.is_cut;
    Ok(log)
}

fn figures(queue: &Queue) -> ConsumerStatsBody {
    let count = |status| queue.counts.get(status).value;
    let waiting = [Status::Ready, Status::Failed, Status::Scheduled, Status::Blocked];
    ConsumerStatsBody {
        depth: waiting.into_iter().map(count).sum(),
        in_flight: count(Status::Running) + count(Status::Expired),
        dead: count(Status::Dead),
        totals: queue.totals,
        failure_rate: 0.0,
        latency_p50_ms: None,
        latency_p95_ms: None,
    }
}

async fn retention(viewer: &Viewer) -> Result<String, Failure> {
    let kept: RetentionBody = match viewer.get("/v1/events/retention").await {
        Ok(answer) => answer.read()?,
        Err(failure) if failure.is_lack() => return Ok(String::new()),
        Err(failure) => return Err(failure),
    };
    Ok(format!("events for {}, and at most {} of them", Ms(kept.age_ms), Count::exact(kept.events)))
}

fn row(viewer: &Viewer, event: &Event, now: Timestamp) -> EventRow {
    let data = match viewer.is_event_redacted(event.kind.as_str()) {
        true => "hidden by the settings of the dashboard".to_owned(),
        false => brief(&String::from_utf8_lossy(&event.data)),
    };
    EventRow {
        id: event.id.to_string(),
        kind: event.kind.to_string(),
        at: When::of(event.emitted_at, now),
        key: event.partition_key.as_ref().map(ToString::to_string).unwrap_or_default(),
        data,
    }
}

/// A consumer as a row.
pub(super) fn consumer(body: &SubscriptionBody, base: &str) -> ConsumerRow {
    let stats = body.stats.as_ref();
    let count = |of: fn(&ConsumerStatsBody) -> u64| Count::exact(stats.map(of).unwrap_or_default());
    let failing = stats.map_or(0.0, |stats| stats.failure_rate * 100.0).clamp(0.0, 100.0) as u8;
    let lag = count(|stats| stats.depth);
    let mark = if !body.enabled {
        Mark::new("paused", "disabled")
    } else if failing >= FAILING {
        Mark::new("warning", "failing")
    } else if lag.value >= LAG {
        Mark::new("warning", "lagging")
    } else if stats.is_some() {
        Mark::new("ok", "ok")
    } else {
        // The list has no statistics.
        Mark::new("ok", "enabled")
    };
    ConsumerRow {
        name: body.consumer.clone(),
        url: format!("{base}/ui/consumers/{}", body.consumer),
        events: body.events.clone(),
        mark,
        order: match (body.ordered, body.fair) {
            (true, _) => "ordered",
            (_, true) => "fair",
            _ => "",
        },
        lag,
        running: count(|stats| stats.in_flight),
        dead: count(|stats| stats.dead),
        completed: count(|stats| stats.totals.completed),
        rate: None,
        failing,
        p50: stats.and_then(|stats| stats.latency_p50_ms).map(Ms),
        p95: stats.and_then(|stats| stats.latency_p95_ms).map(Ms),
    }
}
