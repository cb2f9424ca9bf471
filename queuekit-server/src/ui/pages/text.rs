//! Times, numbers and addresses as the pages show them.

use std::time::Duration;

use queuekit::Timestamp;
use queuekit::queues::Count as Counted;
use url::form_urlencoded;

use crate::ui::view::{Count, Ms, When};
use crate::wire::{Time, millis};

impl When {
    pub(in crate::ui) fn of(at: Timestamp, now: Timestamp) -> Self {
        let age_ms = now.as_millis().saturating_sub(at.as_millis());
        Self { iso: format!("{:.3}", Time(at)), age_ms }
    }
}

impl From<Duration> for Ms {
    fn from(duration: Duration) -> Self {
        Self(millis(duration))
    }
}

impl From<Counted> for Count {
    fn from(counted: Counted) -> Self {
        if counted.exact { Self::exact(counted.value) } else { Self::about(counted.value) }
    }
}

impl std::iter::Sum for Count {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |sum, count| Self {
            value: sum.value.saturating_add(count.value),
            about: sum.about || count.about,
        })
    }
}

/// The list of jobs of a filter, with the base path.
pub(in crate::ui) fn jobs_url(base: &str, filter: &str) -> String {
    format!("{base}/ui/jobs?q={}", query(filter))
}

/// Text in a query.
pub(in crate::ui) fn query(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
