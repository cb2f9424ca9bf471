//! A change of a queue's settings (contract R6.7).

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};

use super::{KeyOnDead, KeyOnWait, Order, QueueSettings, Retention};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::error_group::{GroupId, NewNote};
use crate::limits::{COUNT, DEDUP_WINDOW, DELAY, PER_KEY, countable};
use crate::{duration_ms, json_object};

/// A change of some settings. Settings that are `None` stay as they are.
///
/// In JSON, the names and values are those of [`QueueSettings`]. A missing setting stays as it is,
/// and an unknown name is refused. Limits are checked when the patch is applied, or by
/// [`check`](Self::check), and not by setters or when JSON is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[must_use = "a patch changes nothing until it is applied"]
pub struct QueuePatch {
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    paused: Option<bool>,
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pause_reason: Option<String>,
    #[serde(rename = "pause_for_ms", serialize_with = "duration_ms::option::serialize")]
    #[serde(deserialize_with = "given_ms", skip_serializing_if = "Option::is_none")]
    pause_for: Option<Duration>,
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    max_pending: Option<Option<u64>>,
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    per_key: Option<u32>,
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    key_on_wait: Option<KeyOnWait>,
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    key_on_dead: Option<KeyOnDead>,
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    order: Option<Order>,
    #[serde(rename = "dedup_window_ms", serialize_with = "duration_ms::option::serialize")]
    #[serde(deserialize_with = "given_ms", skip_serializing_if = "Option::is_none")]
    dedup_window: Option<Duration>,
    #[serde(deserialize_with = "given_object", skip_serializing_if = "Option::is_none")]
    retention: Option<Retention>,
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip)]
    note: Option<NewNote>,
}

/// Largest description, in bytes.
const DESCRIPTION_BYTES: usize = 1024;
/// Largest reason of a pause, in bytes.
const REASON_BYTES: usize = 500;

/// Reads null as a value of the setting, and refuses it if the setting has no null.
fn given<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(from).map(Some)
}

fn given_ms<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    duration_ms::deserialize(from).map(Some)
}

fn given_object<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    json_object::deserialize(from).map(Some)
}

impl QueuePatch {
    /// Pauses or resumes the queue. The reason and the end of an earlier pause are dropped.
    pub fn paused(mut self, paused: bool) -> Self {
        self.paused = Some(paused);
        self
    }

    /// Says why the queue is paused, for people: at most 500 bytes without control characters.
    pub fn pause_reason(mut self, reason: impl Into<String>) -> Self {
        self.pause_reason = Some(reason.into());
        self
    }

    /// Ends the pause after this time, from the moment at which the store applies the patch; 1 ms
    /// to 366 days.
    pub fn pause_for(mut self, time: Duration) -> Self {
        self.pause_for = Some(duration_ms::whole(time));
        self
    }

    /// Sets or removes the limit of pending jobs: `max_pending(10_000)`, `max_pending(None)`.
    pub fn max_pending(mut self, jobs: impl Into<Option<u64>>) -> Self {
        self.max_pending = Some(jobs.into().map(|jobs| jobs.min(COUNT)));
        self
    }

    /// Sets how many live leases a partition key may have; 1..=10,000.
    pub fn per_key(mut self, leases: u32) -> Self {
        self.per_key = Some(leases);
        self
    }

    /// Sets whether a waiting head holds up its partition key.
    pub fn key_on_wait(mut self, policy: KeyOnWait) -> Self {
        self.key_on_wait = Some(policy);
        self
    }

    /// Sets whether a dead head holds up its partition key.
    pub fn key_on_dead(mut self, policy: KeyOnDead) -> Self {
        self.key_on_dead = Some(policy);
        self
    }

    /// Sets whether partition keys take turns.
    pub fn order(mut self, order: Order) -> Self {
        self.order = Some(order);
        self
    }

    /// Sets how long idempotency keys stay in use after their job has ended; more than 366 days
    /// count as 366 days.
    pub fn dedup_window(mut self, window: Duration) -> Self {
        self.dedup_window = Some(duration_ms::whole(window.min(DEDUP_WINDOW)));
        self
    }

    /// Sets how long ended jobs are kept.
    pub fn retention(mut self, retention: Retention) -> Self {
        self.retention = Some(retention);
        self
    }

    /// Sets the description for people: at most 1 KiB, without control characters except newline
    /// and tab.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Writes a note on an error group, in place of an earlier one: at most 500 bytes without
    /// control characters. An empty text removes the note. `by` is who wrote it. In JSON, a patch
    /// has no note.
    pub fn note(mut self, group: GroupId, text: impl Into<String>, by: &str) -> Self {
        self.note = Some(NewNote::new(group, text.into(), by));
        self
    }

    /// Whether the patch would change nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it sets what [`QueueSettings::treats_keys_as`] compares.
    pub fn concerns_keys(&self) -> bool {
        self.per_key.is_some()
            || self.key_on_wait.is_some()
            || self.key_on_dead.is_some()
            || self.order.is_some()
    }

    /// Checks that all values are within their limits. A store calls this before it applies a
    /// patch.
    ///
    /// # Errors
    /// `Invalid`. It names the setting and its limit.
    pub fn check(&self) -> Result<()> {
        if let Some(leases) = self.per_key.filter(|leases| !(1..=PER_KEY).contains(leases)) {
            return Err(Error::invalid("per_key", format!("1..={PER_KEY}"), leases));
        }
        self.check_pause()?;
        self.note.as_ref().map_or(Ok(()), NewNote::check)?;
        let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
        if let Some(text) = &self.description
            && (text.len() > DESCRIPTION_BYTES || text.contains(is_control))
        {
            let limit = "at most 1024 bytes without control characters but newline and tab";
            let got = format!("{} bytes", text.len());
            return Err(Error::invalid("description", limit, got));
        }
        countable("max_pending", self.max_pending.flatten())?;
        if let Some(window) = self.dedup_window.filter(|window| *window > DEDUP_WINDOW) {
            let got = format!("{} ms", duration_ms::of(window));
            return Err(Error::invalid("dedup_window_ms", "at most 366 days", got));
        }
        let Some(Retention { done, dead }) = &self.retention else { return Ok(()) };
        done.check()?;
        dead.check()
    }

    fn check_pause(&self) -> Result<()> {
        let without_pause =
            |field| Error::invalid(field, "set together with `paused: true`", "alone");
        if let Some(reason) = &self.pause_reason {
            check_reason(reason)?;
            if self.paused != Some(true) {
                return Err(without_pause("pause_reason"));
            }
        }
        if let Some(time) = self.pause_for {
            if time.is_zero() || time > DELAY {
                let got = format!("{} ms", duration_ms::of(time));
                return Err(Error::invalid("pause_for_ms", "1 ms to 366 days", got));
            }
            if self.paused != Some(true) {
                return Err(without_pause("pause_for_ms"));
            }
        }
        Ok(())
    }
}

/// Checks the reason of a pause.
pub(super) fn check_reason(reason: &str) -> Result<()> {
    if reason.len() > REASON_BYTES || reason.contains(char::is_control) {
        let limit = "at most 500 bytes without control characters";
        return Err(Error::invalid("pause_reason", limit, format!("{} bytes", reason.len())));
    }
    Ok(())
}

impl QueueSettings {
    /// These settings, with those of the patch replaced. `now` is the store's time: a pause for
    /// some time ends that long after it.
    #[must_use]
    pub fn patched(mut self, patch: &QueuePatch, now: Timestamp) -> Self {
        if let Some(paused) = patch.paused {
            self.paused = paused;
            self.pause_reason = patch.pause_reason.clone().filter(|reason| !reason.is_empty());
            self.paused_until = patch.pause_for.map(|time| now + time);
        }
        self.max_pending = patch.max_pending.unwrap_or(self.max_pending);
        self.per_key = patch.per_key.unwrap_or(self.per_key);
        self.key_on_wait = patch.key_on_wait.unwrap_or(self.key_on_wait);
        self.key_on_dead = patch.key_on_dead.unwrap_or(self.key_on_dead);
        self.order = patch.order.unwrap_or(self.order);
        self.dedup_window = patch.dedup_window.unwrap_or(self.dedup_window);
        self.retention = patch.retention.unwrap_or(self.retention);
        self.description = patch.description.clone().unwrap_or(self.description);
        if let Some(note) = &patch.note {
            self.notes.write(note, now);
        }
        self
    }
}

/// The properties of the settings, of which none is required and no other is admitted.
#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for QueuePatch {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::schema::AdditionalProperties;
        use utoipa::openapi::{RefOr, Schema};
        let mut settings = QueueSettings::schema();
        if let RefOr::T(Schema::Object(patch)) = &mut settings {
            let text = "Changes of settings; settings that are absent stay as they are.";
            patch.description = Some(text.to_owned());
            patch.required.clear();
            // A change says for how long, and the settings until when.
            patch.properties.remove("paused_until");
            let days = DELAY.as_millis() as f64;
            let pause_for = utoipa::openapi::ObjectBuilder::new()
                .schema_type(utoipa::openapi::schema::Type::Integer)
                .description(Some("How long the pause lasts; only with `paused: true`."))
                .minimum(Some(1))
                .maximum(Some(days));
            patch.properties.insert("pause_for_ms".to_owned(), pause_for.into());
            patch.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
        }
        settings
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for QueuePatch {
    fn name() -> std::borrow::Cow<'static, str> {
        "QueuePatch".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn read(json: &str) -> serde_json::Result<QueuePatch> {
        serde_json::from_str(json)
    }

    #[test]
    fn r6_7_a_patch_is_read_as_it_is_written() {
        let keep = super::super::Keep::ALL.max_age(Duration::from_secs(600)).max_jobs(7);
        let patch = QueuePatch::default()
            .paused(true)
            .pause_reason("the \"provider\"")
            .pause_for(Duration::from_micros(1_500))
            .max_pending(None)
            .per_key(3)
            .key_on_wait(KeyOnWait::Skip)
            .key_on_dead(KeyOnDead::Hold)
            .order(Order::Fair)
            .dedup_window(Duration::from_secs(1))
            .retention(Retention::ALL.done(keep))
            .description("a\tb");
        let json = concat!(
            r#"{"paused":true,"pause_reason":"the \"provider\"","pause_for_ms":2,"#,
            r#""max_pending":null,"per_key":3,"key_on_wait":"skip","#,
            r#""key_on_dead":"hold","order":"fair","dedup_window_ms":1000,"retention":"#,
            r#"{"done":{"age_ms":600000,"jobs":7,"bytes":null},"#,
            r#""dead":{"age_ms":null,"jobs":null,"bytes":null}},"description":"a\tb"}"#
        );
        assert_eq!(serde_json::to_string(&patch).unwrap(), json);
        assert_eq!(read(json).unwrap(), patch);
        assert_eq!(serde_json::to_string(&QueuePatch::default()).unwrap(), "{}");
        assert!(read("{}").unwrap().is_empty());
    }

    #[test]
    fn r6_7_a_patch_sets_nothing_that_is_no_setting_and_no_null_that_is_none() {
        for wrong in [
            r#"{"retention":[]}"#,
            r#"{"retention":{"done":[],"dead":{}}}"#,
            r#"{"no_setting":1}"#,
            r#"{"note":{"group":"0f0b3a1c0f0b3a1c","text":"t","by":"b"}}"#,
            r#"{"notes":[]}"#,
            r#"{"paused":null}"#,
            r#"{"paused":true,"pause_reason":null}"#,
            r#"{"paused":true,"pause_for_ms":null}"#,
            r#"{"paused":true,"paused_until":"2999-01-01T00:00:00Z"}"#,
            r#"{"per_key":null}"#,
            r#"{"dedup_window_ms":null}"#,
            r#"{"retention":null}"#,
            r#"{"retention":{"done":{}}}"#,
            r#"{"retention":{"done":{"days":1},"dead":{}}}"#,
            r#"{"order":"odd"}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn r12_a_patch_that_was_read_names_the_setting_that_breaks_its_limit() {
        for (json, named) in [
            (r#"{"per_key":0}"#, "per_key"),
            (r#"{"paused":true,"pause_for_ms":0}"#, "pause_for_ms"),
            (r#"{"paused":true,"pause_for_ms":31622400001}"#, "pause_for_ms"),
            (r#"{"paused":true,"pause_reason":"a\nb"}"#, "pause_reason"),
            (r#"{"pause_for_ms":1}"#, "pause_for_ms"),
            (r#"{"paused":false,"pause_for_ms":1}"#, "pause_for_ms"),
            (r#"{"pause_reason":"r"}"#, "pause_reason"),
            (r#"{"paused":false,"pause_reason":"r"}"#, "pause_reason"),
            (r#"{"per_key":10001}"#, "per_key"),
            (r#"{"max_pending":9223372036854775808}"#, "max_pending"),
            (r#"{"dedup_window_ms":9223372036854775808}"#, "dedup_window_ms"),
            (r#"{"retention":{"done":{"age_ms":599999},"dead":{}}}"#, "retention age"),
            (r#"{"retention":{"done":{},"dead":{"jobs":9223372036854775808}}}"#, "retention jobs"),
            (
                r#"{"retention":{"dead":{},"done":{"bytes":9223372036854775808}}}"#,
                "retention bytes",
            ),
        ] {
            let error = read(json).unwrap().check().unwrap_err();
            let ErrorKind::Invalid { field, .. } = error.kind() else { panic!("{error}") };
            assert_eq!(*field, named, "{json}");
        }
        let (longest, longer) = ("é".repeat(250), "x".repeat(501));
        let paused = QueuePatch::default().paused(true).pause_for(DELAY);
        paused.clone().pause_reason(longest).check().unwrap();
        assert!(paused.pause_reason(longer).check().is_err());
        for json in [
            r#"{"per_key":10000,"max_pending":9223372036854775807}"#,
            r#"{"retention":{"done":{"age_ms":600000,"jobs":0},"dead":{"bytes":0}}}"#,
        ] {
            read(json).unwrap().check().unwrap();
        }
        let most = QueuePatch::default().max_pending(u64::MAX).dedup_window(Duration::MAX);
        most.check().unwrap();
    }
}
