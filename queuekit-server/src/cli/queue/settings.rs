//! The settings of a queue, for people.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;

use crate::cli::shown::span;

/// Settings as they hold.
#[derive(Deserialize)]
pub(super) struct SettingsView {
    max_pending: Option<u64>,
    per_key: u32,
    key_on_wait: String,
    key_on_dead: String,
    order: String,
    dedup_window_ms: u64,
    retention: Retention,
}

#[derive(Deserialize)]
struct Retention {
    done: Keep,
    dead: Keep,
}

#[derive(Deserialize)]
struct Keep {
    age_ms: Option<u64>,
    jobs: Option<u64>,
    bytes: Option<u64>,
}

impl fmt::Display for SettingsView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let none = || "none".to_owned();
        let Self { per_key, key_on_wait, key_on_dead, order, retention, .. } = self;
        writeln!(f, "max pending       {}", self.max_pending.map_or_else(none, |n| n.to_string()))?;
        writeln!(f, "per key           {per_key}")?;
        writeln!(f, "key on wait       {key_on_wait}")?;
        writeln!(f, "key on dead       {key_on_dead}")?;
        writeln!(f, "order             {order}")?;
        let window = Duration::from_millis(self.dedup_window_ms);
        writeln!(f, "dedup window      {}", span(window))?;
        writeln!(f, "keep done         {}", retention.done)?;
        write!(f, "keep dead         {}", retention.dead)
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounds = [
            self.age_ms.map(|ms| span(Duration::from_millis(ms))),
            self.jobs.map(|jobs| format!("{jobs} jobs")),
            self.bytes.map(|bytes| format!("{bytes} bytes")),
        ];
        let bounds: Vec<String> = bounds.into_iter().flatten().collect();
        f.write_str(if bounds.is_empty() { "for ever" } else { "" })?;
        f.write_str(&bounds.join(", "))
    }
}
