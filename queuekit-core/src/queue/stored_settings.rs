//! The document of a queue's settings, as stores keep it (contract R12).

use serde_json::{Map, Value};

use super::patch::check_reason;
use super::{QueuePatch, QueueSettings, Retention};
use crate::clock::Timestamp;
use crate::error_group::GroupNotes;
use crate::rfc3339::Rfc3339;

impl QueueSettings {
    /// Reads a stored document.
    ///
    /// A missing setting has its default, so `{}` is the document of a new queue. A setting that
    /// cannot be read, or is out of range, also has its default; but an unreadable retention keeps
    /// all jobs. Settings of a newer version are kept. A pause that has ended is read as it was
    /// stored: [`at`](Self::at) ends it.
    pub fn from_json(document: &[u8]) -> Self {
        // Most documents can be read as a whole. Only a faulty one is read field by field. Serde
        // would read a list as the fields in their order.
        let is_object = document.trim_ascii_start().starts_with(b"{");
        if is_object
            && let Ok(patch) = serde_json::from_slice::<QueuePatch>(document)
            && patch.check().is_ok()
        {
            return Self::default().patched(&patch, Timestamp::default());
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
    fn from(mut fields: Map<String, Value>) -> Self {
        let Value::Object(known) = serde_json::json!(Self::default()) else {
            return Self::default();
        };
        let mut settings = Self::default();
        let (reason, until) = (fields.remove("pause_reason"), fields.remove("paused_until"));
        settings.notes = fields.remove("notes").map(GroupNotes::from_stored).unwrap_or_default();
        for (name, value) in fields {
            if !known.contains_key(&name) {
                settings.newer.insert(name, value);
                continue;
            }
            let keeps_jobs = name == "retention";
            let field = Value::Object(Map::from_iter([(name, value)]));
            match serde_json::from_value::<QueuePatch>(field) {
                // The document says when a pause ends, not how long it lasts: no time is needed.
                Ok(patch) if patch.check().is_ok() => {
                    settings = settings.patched(&patch, Timestamp::default());
                }
                _ if keeps_jobs => settings.retention = Retention::ALL,
                _ => {}
            }
        }
        if settings.paused {
            let reason = reason.and_then(|reason| serde_json::from_value::<String>(reason).ok());
            settings.pause_reason = reason.filter(|reason| check_reason(reason).is_ok());
            let until = until.and_then(|until| serde_json::from_value::<Rfc3339>(until).ok());
            settings.paused_until = until.map(|Rfc3339(at)| at);
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::error_group::GroupId;
    use crate::queue::{KeyOnDead, KeyOnWait, Order};

    fn read(document: &str) -> QueueSettings {
        QueueSettings::from_json(document.as_bytes())
    }

    const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);

    #[test]
    fn r12_settings_survive_being_stored() {
        let patch = QueuePatch::default()
            .paused(true)
            .pause_reason("the provider is down")
            .pause_for(Duration::from_millis(1))
            .max_pending(u64::MAX)
            .per_key(3)
            .key_on_wait(KeyOnWait::Skip)
            .key_on_dead(KeyOnDead::Hold)
            .order(Order::Fair)
            .dedup_window(Duration::from_micros(1500))
            .retention(Retention::ALL);
        for stored in [QueueSettings::default(), QueueSettings::default().patched(&patch, NOW)] {
            assert_eq!(read(&stored.to_json()), stored);
            assert_eq!(serde_json::from_str::<QueueSettings>(&stored.to_json()).unwrap(), stored);
        }
        assert_eq!(read("{}"), QueueSettings::default());
    }

    #[test]
    fn r16_10_a_pause_is_over_at_its_end_and_without_one_lasts() {
        let hour = Duration::from_secs(3600);
        let patch = QueuePatch::default().paused(true).pause_reason("r").pause_for(hour);
        let paused = QueueSettings::default().patched(&patch, NOW);
        assert_eq!(paused.paused_until, Some(NOW + hour));
        let read_at = |at| read(&paused.to_json()).at(at);
        assert_eq!(read_at((NOW + hour).minus(Duration::from_millis(1))), paused);
        for over in [NOW + hour, NOW + hour + Duration::from_millis(1)] {
            assert_eq!(read_at(over), QueueSettings::default());
        }
        for (again, reason) in [(QueuePatch::default().paused(true), None), (patch, Some("r"))] {
            let again = paused.clone().patched(&again, NOW + hour).at(NOW + hour);
            let until = reason.map(|_| NOW + 2 * hour);
            let shown = (again.paused, again.pause_reason.as_deref(), again.paused_until);
            assert_eq!(shown, (true, reason, until), "the last pause holds");
        }
        let resumed = paused.patched(&QueuePatch::default().paused(false), NOW);
        assert_eq!(resumed, QueueSettings::default());
    }

    #[test]
    fn r16_10_an_unreadable_end_or_reason_leaves_a_pause_without_it() {
        for document in [
            r#"{"paused":true,"paused_until":"soon","pause_reason":7}"#,
            r#"{"paused":true,"paused_until":7,"pause_reason":"a\nb"}"#,
        ] {
            let settings = read(document);
            assert!(settings.paused, "{document}");
            assert_eq!((settings.pause_reason, settings.paused_until), (None, None), "{document}");
        }
        let stray = r#"{"paused_until":"2999-01-01T00:00:00Z","pause_reason":"r"}"#;
        assert_eq!(read(stray), QueueSettings::default());
    }

    #[test]
    fn r8_10_notes_survive_being_stored_and_unreadable_ones_are_left_out() {
        let id = |number: u64| format!("{number:016x}").parse::<GroupId>().unwrap();
        let write = |settings: QueueSettings, number| {
            let note = QueuePatch::default().note(id(number), "\"known\", ticket 123", "ops");
            settings.patched(&note, NOW)
        };
        let noted = (0..25).fold(QueueSettings::default(), write);
        let stored = noted.to_json();
        assert_eq!(read(&stored), noted);
        assert!(noted.note(id(4)).is_none(), "the oldest go");
        assert_eq!(noted.note(id(5)).map(|note| note.at), Some(NOW));
        assert_eq!(*noted.without_notes(), QueueSettings::default());
        let many = stored.replace("[{", "[7,{},{\"group\":\"x\"},{");
        assert_eq!(read(&many), noted);
        for damaged in ["{\"notes\":7}", "{\"notes\":[]}"] {
            assert_eq!(read(damaged), QueueSettings::default(), "{damaged}");
        }
        let long = stored.replace("ticket 123", &"x".repeat(501));
        assert_eq!(read(&long), QueueSettings::default());
    }

    #[test]
    fn r12_settings_of_a_newer_version_are_read_and_kept() {
        let newer = r#"{"per_key":7,"colour":{"of":["x"]},"paused":true}"#;
        let patched = read(newer).patched(&QueuePatch::default().paused(false), NOW);
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
