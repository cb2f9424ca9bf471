//! Schedules in answers, written by the server and read by commands.

use queuekit::schedules::{CatchUp, JobTemplate, Overlap, Schedule, ScheduleEntry, Timing};
use queuekit::{JobId, Metadata};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{ShownBytes, Time, millis};

/// A page of schedules, by name.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Schedules)]
pub(crate) struct SchedulesBody {
    pub(crate) schedules: Vec<ScheduleBody>,
    /// Send it as `after` for the next page; missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
}

/// A schedule; one that cannot be read has only its name and the error.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[schema(as = Schedule)]
pub(crate) struct ScheduleBody {
    pub(crate) name: String,
    /// Why the stored schedule cannot be read, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cron: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) every_ms: Option<u64>,
    /// The times, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// Missing if the key lacks the scope `read`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) job: Option<ScheduledJobBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) catch_up: Option<CatchUp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) overlap: Option<Overlap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) jitter_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) end: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) paused: Option<bool>,
    /// Whether the definition is another than the code declared last: an operator changed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) differs_from_code: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<OccurrenceBody>,
    /// How many jobs it has enqueued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enqueued: Option<u64>,
    /// How many occurrences enqueued no job: missed and not caught up with, or skipped because of
    /// overlap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) skipped: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) revision: Option<u64>,
}

/// The job that a schedule enqueues, with defaults filled in.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = ScheduledJob)]
pub(crate) struct ScheduledJobBody {
    pub(crate) queue: String,
    pub(crate) kind: String,
    pub(crate) priority: u8,
    pub(crate) max_attempts: u32,
    pub(crate) timeout_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deadline_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) partition_key: Option<String>,
    pub(crate) metadata: Metadata,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) payload: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) payload_base64: Option<String>,
}

/// The last occurrence that was enqueued.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Occurrence)]
pub(crate) struct OccurrenceBody {
    pub(crate) nominal: Time,
    pub(crate) job: JobId,
}

/// The job that was enqueued.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = ScheduleRun)]
pub(crate) struct ScheduleRunBody {
    pub(crate) id: JobId,
}

/// The next occurrences.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = NextRuns)]
pub(crate) struct NextRunsBody {
    pub(crate) next: Vec<Time>,
}

impl ScheduleBody {
    /// The schedule; with its job and payload only if the caller may read.
    pub(crate) fn of(entry: ScheduleEntry, may_read: bool) -> Self {
        let name = entry.name.to_string();
        match entry.schedule {
            Ok(schedule) => Self::readable(name, &schedule, may_read),
            Err(error) => Self { name, error: Some(error.to_string()), ..Self::default() },
        }
    }

    fn readable(name: String, schedule: &Schedule, may_read: bool) -> Self {
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
            name,
            error: None,
            cron,
            zone,
            every_ms,
            description: Some(description),
            job: may_read.then(|| ScheduledJobBody::of(definition.job())),
            catch_up: Some(definition.catch_up()),
            overlap: Some(definition.overlap()),
            jitter_ms: Some(millis(definition.jitter())),
            start: term.start.map(Time),
            end: term.end.map(Time),
            paused: Some(schedule.paused),
            differs_from_code: schedule.differs_from_code(),
            next_at: schedule.next_at.map(Time),
            last: schedule
                .last
                .map(|last| OccurrenceBody { nominal: Time(last.nominal), job: last.job }),
            enqueued: Some(schedule.enqueued),
            skipped: Some(schedule.skipped),
            revision: Some(schedule.revision),
        }
    }
}

impl ScheduledJobBody {
    fn of(job: &JobTemplate) -> Self {
        let payload = ShownBytes::of(job.payload());
        Self {
            queue: job.queue().to_string(),
            kind: job.kind().to_string(),
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
