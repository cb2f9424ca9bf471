//! A queue's settings as names and values.

use std::collections::HashMap;
use std::time::Duration;

use queuekit_core::queue::{Keep, KeyOnDead, KeyOnWait, Order, QueueSettings, Retention};

use crate::codec::millis;

/// All settings but those at their default, as lua/configure.lua takes them.
pub(crate) fn fields(settings: &QueueSettings) -> Vec<(&'static str, String)> {
    let flag = |set: bool| u8::from(set).to_string();
    let bound = |bound: Option<u64>| bound.map(|bound| bound.to_string()).unwrap_or_default();
    let age = |keep: &Keep| bound(keep.age().map(millis));
    let Retention { done, dead } = &settings.retention;
    vec![
        ("paused", flag(settings.paused)),
        ("max_pending", bound(settings.max_pending)),
        ("per_key", settings.per_key.to_string()),
        ("skip", flag(settings.key_on_wait == KeyOnWait::Skip)),
        ("hold", flag(settings.key_on_dead == KeyOnDead::Hold)),
        ("fair", flag(settings.order == Order::Fair)),
        ("dedup_ms", millis(settings.dedup_window).to_string()),
        ("done_age", age(done)),
        ("done_jobs", bound(done.jobs())),
        ("done_bytes", bound(done.bytes())),
        ("dead_age", age(dead)),
        ("dead_jobs", bound(dead.jobs())),
        ("dead_bytes", bound(dead.bytes())),
    ]
}

/// The settings of these fields; what is not there is at its default.
pub(crate) fn settings(fields: &HashMap<String, Vec<u8>>) -> QueueSettings {
    let text = |name: &str| fields.get(name).and_then(|value| std::str::from_utf8(value).ok());
    let number = |name: &str| text(name).and_then(|text| text.parse::<u64>().ok());
    let is_on = |name: &str| text(name) == Some("1");
    let default = QueueSettings::default();
    let keep = |names: [&str; 3], keep: Keep| {
        let bound = |name: &str, default| text(name).map_or(default, |text| text.parse().ok());
        let age = bound(names[0], keep.age().map(millis)).map(Duration::from_millis);
        let (jobs, bytes) = (bound(names[1], keep.jobs()), bound(names[2], keep.bytes()));
        Keep::new(age, jobs, bytes).unwrap_or(keep)
    };
    let retention = Retention {
        done: keep(["done_age", "done_jobs", "done_bytes"], default.retention.done),
        dead: keep(["dead_age", "dead_jobs", "dead_bytes"], default.retention.dead),
    };
    let mut settings = default;
    settings.paused = is_on("paused");
    settings.max_pending = number("max_pending");
    settings.per_key =
        number("per_key").and_then(|leases| leases.try_into().ok()).unwrap_or(settings.per_key);
    settings.key_on_wait = if is_on("skip") { KeyOnWait::Skip } else { KeyOnWait::Block };
    settings.key_on_dead = if is_on("hold") { KeyOnDead::Hold } else { KeyOnDead::Continue };
    settings.order = if is_on("fair") { Order::Fair } else { Order::Strict };
    settings.dedup_window = number("dedup_ms").map_or(settings.dedup_window, Duration::from_millis);
    settings.retention = retention;
    settings
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuekit_core::QueuePatch;

    #[test]
    fn settings_survive_being_stored() {
        let keep = Keep::new(None, Some(7), Some(9)).unwrap();
        let patch = QueuePatch::default()
            .paused(true)
            .max_pending(Some(5))
            .per_key(3)
            .unwrap()
            .key_on_wait(KeyOnWait::Skip)
            .order(Order::Fair)
            .dedup_window(Duration::from_secs(1))
            .retention(Retention { done: keep, dead: Keep::ALL });
        for stored in [QueueSettings::default(), QueueSettings::default().patched(&patch)] {
            let of = |(name, value): (&str, String)| (name.to_owned(), value.into_bytes());
            let fields = fields(&stored).into_iter().map(of).collect();
            assert_eq!(settings(&fields), stored);
        }
        assert_eq!(settings(&HashMap::new()), QueueSettings::default());
    }
}
