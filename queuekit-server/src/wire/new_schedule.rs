//! A schedule to store: commands write it, routes read it.

use std::time::Duration;

use queuekit::schedules::{CatchUp, Definition, Overlap, ScheduleDraft, ScheduleName};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, Schema};

use super::{NewJobBody, Time, nullable};
use crate::web::Problem;

/// A schedule to store, with a cron expression or an interval.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewSchedule)]
pub(crate) struct NewScheduleBody {
    /// Cron expression: five to seven fields, or `@daily` and the like.
    #[schema(example = "30 2 * * *")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cron: Option<String>,
    /// Time zone of `cron`, such as `Europe/Berlin`. Default: UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) zone: Option<String>,
    /// Interval, instead of `cron`.
    #[schema(minimum = 1000, maximum = 31622400000_u64)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) every_ms: Option<u64>,
    /// Must have no `id`, times and idempotency key: each occurrence has its own.
    pub(crate) job: NewJobBody,
    /// Missed occurrences to enqueue: none (`skip`), the latest (`once`, the default) or the latest
    /// N (`{"all": N}`).
    #[schema(schema_with = catch_ups, required = false)]
    #[serde(default, deserialize_with = "catch_up", skip_serializing_if = "Option::is_none")]
    pub(crate) catch_up: Option<CatchUp>,
    /// Whether to enqueue a job while the last one has not ended.
    #[schema(nullable = false)]
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub(crate) overlap: Option<Overlap>,
    #[serde(default)]
    #[schema(maximum = 31622400000_u64)]
    pub(crate) jitter_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) end: Option<Time>,
    /// Pauses or resumes the schedule; if left out, a pause stays as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) paused: Option<bool>,
}

/// Bounds the input before it is read.
fn catch_up<'de, D: Deserializer<'de>>(from: D) -> Result<Option<CatchUp>, D::Error> {
    let Some(raw) = Option::<&RawValue>::deserialize(from)? else { return Ok(None) };
    let small = Some(raw.get()).filter(|text| text.len() <= 100);
    let read = small.and_then(|text| serde_json::from_str(text).ok());
    let wrong = || D::Error::custom("catch_up must be skip, once or {\"all\": N}");
    read.map(Some).ok_or_else(wrong)
}

fn catch_ups() -> Schema {
    let words = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["skip", "once"]));
    let number = ObjectBuilder::new().schema_type(Type::Integer);
    let number = number.minimum(Some(0)).maximum(Some(1000));
    let all = ObjectBuilder::new().property("all", number).required("all");
    utoipa::openapi::schema::OneOfBuilder::new().item(words).item(all).build().into()
}

impl NewScheduleBody {
    /// The checked schedule.
    ///
    /// # Errors
    /// 422, naming the field that breaks its limit.
    pub(crate) fn build(self, name: &ScheduleName) -> Result<Definition, Problem> {
        let job = self.job.draft()?;
        let mut draft = match (self.cron, self.every_ms) {
            (Some(cron), None) => ScheduleDraft::cron(name, cron, job),
            (None, Some(every_ms)) => {
                ScheduleDraft::every(name, Duration::from_millis(every_ms), job)
            }
            _ => return Err(Problem::invalid("cron", "give either cron or every_ms")),
        };
        if let Some(zone) = self.zone {
            draft = draft.zone(zone);
        }
        draft = draft.catch_up(self.catch_up.unwrap_or_default());
        draft = draft.overlap(self.overlap.unwrap_or_default());
        draft = draft.jitter(Duration::from_millis(self.jitter_ms));
        if let Some(Time(start)) = self.start {
            draft = draft.start(start);
        }
        if let Some(Time(end)) = self.end {
            draft = draft.end(end);
        }
        Ok(draft.build()?)
    }
}
