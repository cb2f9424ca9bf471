//! Queues as rows of a table, as far as the viewer may see them.

use std::collections::HashMap;

use queuekit::queues::Queue;
use queuekit::workers::Beat;
use queuekit::{Status, Timestamp};

use crate::ui::attention;
use crate::ui::live::Snapshot;
use crate::ui::view::{Count, Health, Pause, QueueRow, QueueTable, Sparkline, When};
use crate::ui::viewer::Viewer;

/// The queues that the viewer may see.
pub(in crate::ui) fn queues_of<'a>(
    viewer: &Viewer,
    now: &'a Snapshot,
) -> impl Iterator<Item = &'a Queue> {
    let queues = now.figures.iter().flat_map(|figures| &figures.queues);
    queues.filter(move |queue| viewer.caller().sees_queue(queue.name.as_str()))
}

/// A table of these queues.
pub(in crate::ui) fn table_of(viewer: &Viewer, now: &Snapshot, queues: &[&Queue]) -> QueueTable {
    let slots = Slots::of(now);
    let rows = queues.iter().map(|queue| row(queue, &slots, now)).collect();
    QueueTable { base: viewer.base().to_owned(), rows, is_search: false }
}

fn row(queue: &Queue, slots: &Slots, now: &Snapshot) -> QueueRow {
    let count = |status| Count::from(queue.counts.get(status));
    let in_use = slots.serving(queue.name.as_str()).filter(|_| queue.workers > 0);
    QueueRow {
        name: queue.name.to_string(),
        pause: pause(queue),
        ready: count(Status::Ready),
        running: count(Status::Running),
        failed: count(Status::Failed),
        scheduled: count(Status::Scheduled),
        blocked: count(Status::Blocked),
        dead: count(Status::Dead),
        completed: count(Status::Completed),
        oldest: queue.oldest_ready_age.map(Into::into),
        workers: queue.workers,
        utilisation: in_use.map(|in_use| percent(in_use.running, in_use.slots)),
        spark: spark(queue, now),
        health: health(queue),
    }
}

/// Its pause, if it is paused.
pub(in crate::ui) fn pause(queue: &Queue) -> Option<Pause> {
    let settings = &queue.settings;
    settings.paused.then(|| Pause {
        reason: settings.pause_reason.clone().unwrap_or_default(),
        end: settings.paused_until.map(|end| When::of(end, queue.as_of)),
    })
}

fn spark(queue: &Queue, now: &Snapshot) -> Sparkline {
    let values = now.extras.trend.completed(&queue.name, queue.as_of);
    let last = values.last().copied().unwrap_or_default();
    let most = values.iter().max().copied().unwrap_or_default();
    let label = format!("{last} completed in the last minute, {most} at most in the last hour");
    Sparkline { values, label }
}

/// The health, with its reasons without their points.
pub(in crate::ui) fn health(queue: &Queue) -> Health {
    Health { score: queue.health.score, reasons: attention::reasons(queue) }
}

pub(in crate::ui) fn percent(part: u64, of: u64) -> u8 {
    u8::try_from((part * 100).checked_div(of).unwrap_or(0).min(100)).unwrap_or(100)
}

/// How many slots the workers of each queue have. A worker of several queues counts in each.
pub(in crate::ui) struct Slots(HashMap<String, InUse>);

#[derive(Clone, Copy, Default)]
pub(in crate::ui) struct InUse {
    pub(in crate::ui) running: u64,
    pub(in crate::ui) slots: u64,
}

impl Slots {
    pub(in crate::ui) fn of(now: &Snapshot) -> Self {
        let mut slots = HashMap::<String, InUse>::new();
        for worker in now.figures.iter().flat_map(|figures| &figures.workers) {
            let Beat { queues, running, slots: own, .. } = &worker.beat;
            for queue in queues.names() {
                let of_queue = slots.entry(queue.to_string()).or_default();
                of_queue.running += u64::from(*running);
                of_queue.slots += u64::from(*own);
            }
        }
        Self(slots)
    }

    pub(in crate::ui) fn serving(&self, queue: &str) -> Option<InUse> {
        self.0.get(queue).copied()
    }
}

/// The time of the figures, by the clock of the store, or else of this server.
pub(in crate::ui) fn store_time(viewer: &Viewer, now: &Snapshot) -> Timestamp {
    let queues = now.figures.iter().flat_map(|figures| &figures.queues);
    queues.map(|queue| queue.as_of).max().unwrap_or_else(|| viewer.app().now())
}
