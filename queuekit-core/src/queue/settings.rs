//! The settings of a queue (contract R12).

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{KeyOnDead, KeyOnWait, Order, QueuePatch, Retention};
use crate::duration_ms;

/// The settings of a queue; in force within 1 s of their change.
///
/// A store keeps them as one JSON [document](Self::to_json), which HTTP shows too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::ToSchema),
    schema(description = "The settings of a queue; in force within 1 s of their change.")
)]
#[serde(from = "Map<String, Value>")]
#[non_exhaustive]
pub struct QueueSettings {
    /// Whether the queue is paused: reserve then does nothing in it (default false).
    pub paused: bool,
    /// The number of pending jobs at which an enqueue returns `QueueFull` (default none).
    pub max_pending: Option<u64>,
    /// The live leases that a partition key may have at once (default 1).
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 10_000))]
    pub per_key: u32,
    /// Whether a waiting head of a key holds up the later jobs (default block).
    pub key_on_wait: KeyOnWait,
    /// Whether a dead head of a key holds up the later jobs (default continue).
    pub key_on_dead: KeyOnDead,
    /// Whether partition keys take turns (default strict: they do not).
    pub order: Order,
    /// How long an idempotency key stays in use after its job has ended (default 24 h).
    #[serde(rename = "dedup_window_ms", serialize_with = "duration_ms::serialize")]
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub dedup_window: Duration,
    /// How long ended jobs are kept.
    pub retention: Retention,
    /// A description of the queue, for people (default empty).
    #[cfg_attr(feature = "openapi", schema(max_length = 1024))]
    pub description: String,
    /// Settings that a newer version has stored; they are kept unchanged.
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    newer: Map<String, Value>,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self {
            paused: false,
            max_pending: None,
            per_key: 1,
            key_on_wait: KeyOnWait::Block,
            key_on_dead: KeyOnDead::Continue,
            order: Order::Strict,
            dedup_window: Duration::from_secs(24 * 3600),
            retention: Retention::default(),
            description: String::new(),
            newer: Map::new(),
        }
    }
}

impl QueueSettings {
    /// How many waiting jobs of a partition key, from the first one, are not blocked (contract
    /// R7.3). `held` says whether a dead head holds the key, `running` how many of its jobs run,
    /// and `due`, for each waiting job by sequence, whether its time has come.
    pub fn unblocked(
        &self,
        held: bool,
        running: usize,
        due: impl IntoIterator<Item = bool>,
    ) -> usize {
        let mut free = self.free_leases(held, running);
        let mut unblocked = 0;
        for is_due in due {
            if free == 0 {
                break;
            }
            unblocked += 1;
            match self.key_on_wait {
                KeyOnWait::Block if !is_due => break,
                KeyOnWait::Skip if !is_due => {}
                KeyOnWait::Block | KeyOnWait::Skip => free -= 1,
            }
        }
        unblocked
    }

    /// How many more leases a partition key may get now.
    pub(crate) fn free_leases(&self, held: bool, running: usize) -> usize {
        if held && self.key_on_dead == KeyOnDead::Hold {
            return 0;
        }
        (self.per_key as usize).saturating_sub(running)
    }

    /// Reads a stored document.
    ///
    /// A missing setting has its default, so `{}` is the document of a new queue. A setting that
    /// cannot be read, or is out of range, also has its default; but an unreadable retention keeps
    /// all jobs. Settings of a newer version are kept.
    pub fn from_json(document: &[u8]) -> Self {
        // Most documents can be read as a whole. Only a faulty one is read field by field. Serde
        // would read a list as the fields in their order.
        let is_object = document.trim_ascii_start().starts_with(b"{");
        if is_object
            && let Ok(patch) = serde_json::from_slice::<QueuePatch>(document)
            && patch.check().is_ok()
        {
            return Self::default().patched(&patch);
        }
        match serde_json::from_slice::<Map<String, Value>>(document) {
            Ok(fields) => fields.into(),
            Err(_) => Self { retention: Retention::ALL, ..Self::default() },
        }
    }

    /// The document to store.
    pub fn to_json(&self) -> String {
        // Words, numbers, and values that were read from JSON: all can be written as JSON.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl From<Map<String, Value>> for QueueSettings {
    fn from(fields: Map<String, Value>) -> Self {
        let Value::Object(known) = serde_json::json!(Self::default()) else {
            return Self::default();
        };
        let mut settings = Self::default();
        for (name, value) in fields {
            if !known.contains_key(&name) {
                settings.newer.insert(name, value);
                continue;
            }
            let keeps_jobs = name == "retention";
            let field = Value::Object(Map::from_iter([(name, value)]));
            match serde_json::from_value::<QueuePatch>(field) {
                Ok(patch) if patch.check().is_ok() => settings = settings.patched(&patch),
                _ if keeps_jobs => settings.retention = Retention::ALL,
                _ => {}
            }
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(document: &str) -> QueueSettings {
        QueueSettings::from_json(document.as_bytes())
    }

    #[test]
    fn r12_settings_survive_being_stored() {
        let patch = QueuePatch::default()
            .paused(true)
            .max_pending(u64::MAX)
            .per_key(3)
            .key_on_wait(KeyOnWait::Skip)
            .key_on_dead(KeyOnDead::Hold)
            .order(Order::Fair)
            .dedup_window(Duration::from_micros(1500))
            .retention(Retention::ALL);
        for stored in [QueueSettings::default(), QueueSettings::default().patched(&patch)] {
            assert_eq!(read(&stored.to_json()), stored);
            assert_eq!(serde_json::from_str::<QueueSettings>(&stored.to_json()).unwrap(), stored);
        }
        assert_eq!(read("{}"), QueueSettings::default());
    }

    #[test]
    fn r12_settings_of_a_newer_version_are_read_and_kept() {
        let newer = r#"{"per_key":7,"colour":{"of":["x"]},"paused":true}"#;
        let patched = read(newer).patched(&QueuePatch::default().paused(false));
        assert_eq!((patched.per_key, patched.paused), (7, false));
        let kept: Value = serde_json::from_str(&patched.to_json()).unwrap();
        assert_eq!(kept["colour"]["of"][0], "x");
        assert_eq!(read(&patched.to_json()), patched);
    }

    #[test]
    fn r12_what_cannot_be_read_is_at_its_default_and_keeps_all_jobs() {
        let all = QueueSettings { retention: Retention::ALL, ..QueueSettings::default() };
        for (document, wanted) in [
            (r#"{"per_key":0,"order":"odd","max_pending":-1}"#, QueueSettings::default()),
            (r#"{"retention":{"done":{"age_ms":1},"dead":{}},"per_key":null}"#, all.clone()),
            (r#"{"retention":{"done":{"days":1},"dead":{}}}"#, all.clone()),
            ("", all.clone()),
            ("[]", all),
        ] {
            assert_eq!(read(document), wanted, "{document}");
        }
        assert_eq!(read(r#"{"per_key":0,"order":"fair"}"#).order, Order::Fair);
    }
}
