//! The JSON form of a queue: the one that the HTTP API shows and that its clients read.

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde::{Deserialize, Deserializer};

use super::{Count, Counts, Queue};
use crate::duration_ms;
use crate::job::Status;
use crate::rfc3339::Rfc3339;

/// As JSON: the object that `GET /v1/queues/NAME` answers (`docs/http.md`). `paused` is beside the
/// settings, too.
impl Serialize for Queue {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("paused", &self.settings.paused)?;
        map.serialize_entry("counts", &self.counts)?;
        map.serialize_entry("totals", &self.totals)?;
        if let Some(age) = self.oldest_ready_age {
            map.serialize_entry("oldest_ready_age_ms", &duration_ms::of(age))?;
        }
        map.serialize_entry("health", &self.health)?;
        map.serialize_entry("workers", &self.workers)?;
        map.serialize_entry("corrupt", &self.corrupt)?;
        map.serialize_entry("settings", &self.settings)?;
        map.serialize_entry("as_of", &Rfc3339(self.as_of))?;
        map.end()
    }
}

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
