//! The settings of a queue that scripts read.

use queuekit_core::queue::{Keep, QueueSettings, Retention};

use crate::codec::millis;

/// Names and values stored next to the document, for lua/lib/queue.lua and lua/prune.lua.
pub(crate) fn read_by_scripts(settings: &QueueSettings) -> [(&'static str, String); 13] {
    // 1 is before any end.
    let paused = match settings.paused_until {
        Some(end) if settings.paused => end.as_millis().to_string(),
        _ => u8::from(settings.paused).to_string(),
    };
    let bound = |bound: Option<u64>| bound.map(|bound| bound.to_string()).unwrap_or_default();
    let age = |keep: &Keep| bound(keep.age().map(millis));
    let Retention { done, dead, .. } = &settings.retention;
    [
        ("paused", paused),
        ("max_pending", bound(settings.max_pending)),
        ("per_key", settings.per_key.to_string()),
        ("key_on_wait", settings.key_on_wait.as_str().to_owned()),
        ("key_on_dead", settings.key_on_dead.as_str().to_owned()),
        ("order", settings.order.as_str().to_owned()),
        ("dedup_window_ms", millis(settings.dedup_window).to_string()),
        ("done_age", age(done)),
        ("done_jobs", bound(done.jobs())),
        ("done_bytes", bound(done.bytes())),
        ("dead_age", age(dead)),
        ("dead_jobs", bound(dead.jobs())),
        ("dead_bytes", bound(dead.bytes())),
    ]
}
