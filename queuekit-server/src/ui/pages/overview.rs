//! `/ui`: what needs attention, and how it goes.

use axum::extract::Query;
use axum::response::Response;
use queuekit::Status;
use queuekit::queues::Queue;

use super::attention::{concern, concerns};
use super::history::{self, Range, RangeQuery};
use super::queue_rows::{queues_of, table_of};
use super::text::jobs_url;
use crate::ui::failure::Failure;
use crate::ui::live::Snapshot;
use crate::ui::view::{
    Attention, Concern, Count, Mark, Number, Numbers, Overview, Page, QueueTable,
};
use crate::ui::viewer::Viewer;
use crate::web::Scope;
use crate::wire::COUNTED_STATUSES;

/// The most queues on the first page: those that need to be looked at first.
const QUEUES: usize = 20;
/// The most lines that need attention.
const CONCERNS: usize = 20;

pub(in crate::ui) async fn show(
    viewer: Viewer,
    Query(query): Query<RangeQuery>,
) -> Result<Response, Failure> {
    viewer.caller().need(Scope::Read)?;
    let now = viewer.ui.0.board.now().await;
    let range = Range::of(&query);
    let charts = history::charts(&viewer, None, range, &now).await?;
    let page = Overview {
        shell: viewer.shell(Page::Overview, "Overview", &now),
        attention: attention(&viewer, &now),
        numbers: numbers(&viewer, &now),
        ranges: range.links(viewer.base(), "/ui"),
        throughput: charts.throughput,
        latency: charts.latency,
        queues: queue_table(&viewer, &now),
    };
    viewer.show(&page).await
}

pub(in crate::ui) fn attention(viewer: &Viewer, now: &Snapshot) -> Attention {
    let found = concerns(viewer, now);
    let more = found.len().saturating_sub(CONCERNS);
    let at = viewer.app().now();
    let shown = found.into_iter().take(CONCERNS);
    let mut items: Vec<Concern> = shown.map(|found| concern(viewer, found, at)).collect();
    if more > 0 {
        items.push(Concern {
            shape: "info",
            sentence: format!("{more} more"),
            detail: "The list of queues has them all".to_owned(),
            url: format!("{}/ui/queues?order=health", viewer.base()),
            since: None,
            action: None,
            link: None,
        });
    }
    Attention { items, looked_at: looked_at(viewer, now) }
}

fn looked_at(viewer: &Viewer, now: &Snapshot) -> String {
    let queues = queues_of(viewer, now).count();
    let workers = now.figures.as_ref().map_or(0, |figures| figures.workers.len());
    let many =
        |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    match viewer.caller().is_bound() {
        true => many(queues, "queue"),
        false => format!("{} and {}", many(queues, "queue"), many(workers, "worker")),
    }
}

pub(in crate::ui) fn numbers(viewer: &Viewer, now: &Snapshot) -> Numbers {
    let number = |status: Status| {
        let counts = queues_of(viewer, now).map(|queue| Count::from(queue.counts.get(status)));
        Number {
            mark: Mark::status(status.as_str()),
            count: counts.sum(),
            url: jobs_url(viewer.base(), &format!("status:{status}")),
            note: String::new(),
        }
    };
    Numbers { items: COUNTED_STATUSES.map(number).into() }
}

/// The queues that need to be looked at first: the least healthy, then those with the most to do.
pub(in crate::ui) fn queue_table(viewer: &Viewer, now: &Snapshot) -> QueueTable {
    let mut queues: Vec<&Queue> = queues_of(viewer, now).collect();
    queues.sort_by_cached_key(|queue| {
        let pending =
            queue.counts.get(Status::Ready).value + queue.counts.get(Status::Running).value;
        (queue.health.score, std::cmp::Reverse(pending), queue.name.clone())
    });
    queues.truncate(QUEUES);
    table_of(viewer, now, &queues)
}
