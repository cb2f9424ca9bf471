//! Schedules as they are given and shown.

use std::time::Duration;

use queuekit::schedule::{Definition, JobTemplate, ScheduleEntry, Timing};
use queuekit::{CatchUp, JobId, Metadata, Overlap, Schedule, ScheduleDraft, ScheduleName};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::Object;

use crate::api::wire::{NewJobBody, Shown, Time, given, millis, words};
use crate::http::Problem;

/// Schedules by name.
#[derive(Serialize, ToSchema)]
#[schema(as = Schedules)]
pub(in crate::api) struct SchedulesBody {
    pub(super) schedules: Vec<Answered>,
    /// Where the next page begins: `after` this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<String>,
}

/// A schedule.
#[derive(Serialize, ToSchema)]
#[schema(as = Schedule)]
pub(in crate::api) struct Answered {
    name: String,
    /// Why it cannot be read, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(flatten)]
    says: Option<SaysBody>,
}

/// What a schedule says, and what is known of it.
#[derive(Serialize, ToSchema)]
#[schema(as = ScheduleSays)]
struct SaysBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    cron: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    every_ms: Option<u64>,
    /// When that is, in words.
    description: String,
    /// Missing for a key that may not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<TemplateBody>,
    #[schema(value_type = serde_json::Value)]
    catch_up: CatchUp,
    #[schema(value_type = String)]
    overlap: Overlap,
    jitter_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    start: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    end: Option<Time>,
    paused: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    next_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<LastBody>,
    /// How many jobs it has enqueued.
    enqueued: u64,
    revision: u64,
}

/// What it enqueues: as it was given, with what was left out.
#[derive(Serialize, ToSchema)]
#[schema(as = ScheduledJob)]
struct TemplateBody {
    queue: String,
    r#type: String,
    priority: u8,
    max_attempts: u32,
    timeout_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_key: Option<String>,
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    metadata: Metadata,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
}

/// Its latest occurrence that was enqueued.
#[derive(Serialize, ToSchema)]
#[schema(as = Occurrence)]
struct LastBody {
    #[schema(value_type = String, format = DateTime)]
    nominal: Time,
    #[schema(value_type = String, format = Uuid)]
    job: JobId,
}

/// What a schedule is to be: a cron expression or an interval.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ScheduleGiven)]
pub(in crate::api) struct GivenBody {
    /// Five to seven fields, or @daily and the like.
    #[schema(example = "30 2 * * *")]
    cron: Option<String>,
    /// Of the expression: `Europe/Berlin` [UTC].
    zone: Option<String>,
    #[schema(minimum = 1000, maximum = 31622400000_u64)]
    every_ms: Option<u64>,
    /// Without id, times and idempotency key: each occurrence has its own.
    job: NewJobBody,
    /// skip, once, or {"all": N}: what becomes of occurrences that nobody was there for.
    #[serde(default, deserialize_with = "catch_up")]
    catch_up: Option<CatchUpBody>,
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = overlaps)]
    overlap: Option<Overlap>,
    #[serde(default)]
    #[schema(maximum = 31622400000_u64)]
    jitter_ms: u64,
    #[schema(value_type = Option<String>, format = DateTime)]
    start: Option<Time>,
    #[schema(value_type = Option<String>, format = DateTime)]
    end: Option<Time>,
    /// Whether it enqueues nothing from now on; without it a pause stays as it is.
    pub(super) paused: Option<bool>,
}

/// skip, once, or {"all": N}, which is at most 1,000.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = CatchUp)]
enum CatchUpBody {
    Named(CatchUpName),
    All(CatchUpAll),
}

/// `untagged` would read whatever is sent into memory: it gets no more than this can be.
fn catch_up<'de, D: Deserializer<'de>>(from: D) -> Result<Option<CatchUpBody>, D::Error> {
    let Some(raw) = Option::<&RawValue>::deserialize(from)? else { return Ok(None) };
    let small = Some(raw.get()).filter(|text| text.len() <= 100);
    let read = small.and_then(|text| serde_json::from_str(text).ok());
    let wrong = || D::Error::custom("catch_up is skip, once, or {\"all\": N}");
    read.map(Some).ok_or_else(wrong)
}

/// None of them, or the latest.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum CatchUpName {
    Skip,
    Once,
}

/// The latest so many.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CatchUpAll {
    #[schema(maximum = 1000)]
    all: u32,
}

fn overlaps() -> Object {
    words(Overlap::WORDS, "Whether it runs beside the one before.")
}

/// The job of a run that was asked for.
#[derive(Serialize, ToSchema)]
#[schema(as = ScheduleRun)]
pub(in crate::api) struct RunBody {
    #[schema(value_type = String, format = Uuid)]
    pub(super) id: JobId,
}

/// Nominal times.
#[derive(Serialize, ToSchema)]
#[schema(as = NextRuns)]
pub(in crate::api) struct NextBody {
    #[schema(value_type = Vec<String>)]
    pub(super) next: Vec<Time>,
}

impl GivenBody {
    pub(super) fn build(self, name: &ScheduleName) -> Result<Definition, Problem> {
        let job = self.job.draft()?;
        let mut draft = match (self.cron, self.every_ms) {
            (Some(cron), None) => ScheduleDraft::cron(name, cron, job),
            (None, Some(every_ms)) => {
                ScheduleDraft::every(name, Duration::from_millis(every_ms), job)
            }
            _ => return Err(Problem::invalid("cron", "give cron or every_ms, one of both")),
        };
        if let Some(zone) = self.zone {
            draft = draft.zone(zone);
        }
        draft = draft.catch_up(self.catch_up.map(CatchUp::from).unwrap_or_default());
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

impl From<CatchUpBody> for CatchUp {
    fn from(body: CatchUpBody) -> Self {
        match body {
            CatchUpBody::Named(CatchUpName::Skip) => Self::Skip,
            CatchUpBody::Named(CatchUpName::Once) => Self::Once,
            CatchUpBody::All(CatchUpAll { all }) => Self::All(all),
        }
    }
}

impl Answered {
    /// With the job and its payload for whoever may read.
    pub(super) fn of(entry: ScheduleEntry, may_read: bool) -> Self {
        let name = entry.name.to_string();
        match entry.schedule {
            Ok(schedule) => {
                Self { name, error: None, says: Some(SaysBody::of(&schedule, may_read)) }
            }
            Err(error) => Self { name, error: Some(error.to_string()), says: None },
        }
    }
}

impl SaysBody {
    fn of(schedule: &Schedule, may_read: bool) -> Self {
        let definition = &schedule.definition;
        let (cron, zone, every_ms, description) = match definition.timing() {
            Timing::Cron(cron) => {
                let (expression, zone) = (cron.expression().to_owned(), cron.zone().to_owned());
                (Some(expression), Some(zone), None, cron.describe())
            }
            every @ Timing::Every(interval) => {
                (None, None, Some(millis(interval.duration())), every.to_string())
            }
        };
        let term = definition.term();
        Self {
            cron,
            zone,
            every_ms,
            description,
            job: may_read.then(|| TemplateBody::of(definition.job())),
            catch_up: definition.catch_up(),
            overlap: definition.overlap(),
            jitter_ms: millis(definition.jitter()),
            start: term.start.map(Time),
            end: term.end.map(Time),
            paused: schedule.paused,
            next_at: schedule.next_at.map(Time),
            last: schedule.last.map(|last| LastBody { nominal: Time(last.nominal), job: last.job }),
            enqueued: schedule.enqueued,
            revision: schedule.revision,
        }
    }
}

impl TemplateBody {
    fn of(job: &JobTemplate) -> Self {
        let payload = Shown::of(job.payload());
        Self {
            queue: job.queue().to_string(),
            r#type: job.kind().to_string(),
            priority: job.priority().into(),
            max_attempts: job.max_attempts(),
            timeout_ms: millis(job.timeout()),
            deadline_ms: job.deadline().map(millis),
            partition_key: job.partition_key().map(ToString::to_string),
            metadata: job.metadata().clone(),
            payload: payload.json.map(ToOwned::to_owned),
            payload_base64: payload.base64,
        }
    }
}
