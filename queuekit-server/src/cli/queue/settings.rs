//! The settings of a queue, for people.

use queuekit::QueueSettings;
use queuekit::queue::Keep;

use crate::cli::shown::span;

/// A line for each; whether the queue is paused is shown with its figures.
pub(super) fn lines(settings: &QueueSettings) -> String {
    let max_pending = settings.max_pending.map_or_else(|| "none".to_owned(), |n| n.to_string());
    let lines = [
        ("max pending", max_pending),
        ("per key", settings.per_key.to_string()),
        ("key on wait", settings.key_on_wait.to_string()),
        ("key on dead", settings.key_on_dead.to_string()),
        ("order", settings.order.to_string()),
        ("dedup window", span(settings.dedup_window)),
        ("keep done", bounds(&settings.retention.done)),
        ("keep dead", bounds(&settings.retention.dead)),
    ];
    lines.map(|(name, value)| format!("{name:<18}{value}")).join("\n")
}

fn bounds(keep: &Keep) -> String {
    let bounds = [
        keep.age().map(span),
        keep.jobs().map(|jobs| format!("{jobs} jobs")),
        keep.bytes().map(|bytes| format!("{bytes} bytes")),
    ];
    let bounds: Vec<String> = bounds.into_iter().flatten().collect();
    if bounds.is_empty() { "for ever".to_owned() } else { bounds.join(", ") }
}
