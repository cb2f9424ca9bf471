//! The JSON form of a queue: the one that the HTTP API shows and that its clients read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Count, Counts, Health, Queue, QueueSettings, Totals};
use crate::duration_ms;
use crate::job::Status;
use crate::names::QueueName;
use crate::openapi::schema_of_form;
use crate::rfc3339::Rfc3339;

/// As JSON: the object that `GET /v1/queues/NAME` answers (`docs/http.md`). `paused` is beside the
/// settings, too.
impl Serialize for Queue {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let shown = Shown {
            name: &self.name,
            paused: self.settings.paused,
            counts: &self.counts,
            totals: &self.totals,
            oldest_ready_age_ms: self.oldest_ready_age.map(duration_ms::of),
            health: &self.health,
            workers: self.workers,
            corrupt: self.corrupt,
            settings: self.settings.without_notes(),
            as_of: Rfc3339(self.as_of),
        };
        shown.serialize(to)
    }
}

/// A queue with its figures and settings.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Queue))]
struct Shown<'a> {
    name: &'a QueueName,
    paused: bool,
    /// Number of jobs by status.
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, Count>))]
    counts: &'a Counts,
    totals: &'a Totals,
    /// Age of the oldest job that could run now.
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_ready_age_ms: Option<u64>,
    health: &'a Health,
    /// Live workers that serve the queue.
    workers: u64,
    /// Unreadable records that were found.
    corrupt: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = QueueSettings))]
    settings: Cow<'a, QueueSettings>,
    /// When the store counted.
    as_of: Rfc3339,
}

schema_of_form!(Queue, Shown<'static>);

/// As an object, with every status.
impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter())
    }
}

/// A status that is absent has no jobs.
impl<'de> Deserialize<'de> for Counts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let shown = BTreeMap::<Status, Count>::deserialize(from)?;
        let mut counts = Self::default();
        shown.into_iter().for_each(|(status, count)| counts.set(status, count));
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use crate::job::Status;
    use crate::queue::{Count, Queue, QueueSettings};
    use crate::{QueueName, Timestamp};

    #[test]
    fn a_queue_is_read_as_it_was_shown() {
        let at = Timestamp::from_millis(1_767_225_600_007);
        let mut queue = Queue::empty(QueueName::default(), QueueSettings::default(), at);
        let shown = serde_json::to_value(&queue).unwrap();
        assert_eq!(shown["counts"]["ready"], json!({"value": 0, "exact": true}));
        assert_eq!(shown["as_of"], "2026-01-01T00:00:00.007Z");
        assert!(shown.get("oldest_ready_age_ms").is_none());
        assert_eq!(serde_json::from_value::<Queue>(shown).unwrap(), queue);

        queue.settings.paused = true;
        queue.counts.set(Status::Dead, Count::estimate(20_000));
        queue.totals.dead = 30_000;
        queue.oldest_ready_age = Some(Duration::from_millis(7));
        queue.health.reasons = vec!["-1: a reason".to_owned()];
        (queue.workers, queue.corrupt) = (2, 3);
        let shown = serde_json::to_value(&queue).unwrap();
        assert_eq!((&shown["paused"], &shown["oldest_ready_age_ms"]), (&json!(true), &json!(7)));
        assert_eq!(serde_json::from_value::<Queue>(shown).unwrap(), queue);
    }
}
