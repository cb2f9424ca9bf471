//! A job to store: commands write it, routes read it.

use std::fmt;
use std::time::Duration;

use queuekit::jobs::Start;
use queuekit::{JobDraft, JobId, Metadata, NewJob, Priority};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, Schema};

use super::{GivenBytes, ShownBytes, Time, bounded, metadata, millis, one_of_schema};
use crate::web::{Problem, json};

/// A job to store.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewJob)]
pub(crate) struct NewJobBody {
    /// An id that you generate, so that you can repeat a call whose answer was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<JobId>,
    /// Which handler runs it.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$", example = "email")]
    #[serde(alias = "type")]
    pub(crate) kind: String,
    /// Any JSON value; stored byte for byte.
    #[schema(value_type = Option<serde_json::Value>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) payload: Option<Box<RawValue>>,
    /// Any bytes, instead of `payload`.
    #[schema(format = Byte)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) payload_base64: Option<String>,
    /// Created if it does not exist.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$", default = "default")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) queue: Option<String>,
    #[schema(schema_with = priority_schema, required = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) priority: Option<PriorityBody>,
    /// Attempts before the job is dead-lettered.
    #[schema(minimum = 1, maximum = 1000, default = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_attempts: Option<u32>,
    /// How long the job waits before it may run.
    #[schema(maximum = 31622400000_u64)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay_ms: Option<u64>,
    /// When the job may run, instead of `delay_ms`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) run_at: Option<Time>,
    /// The queue accepts one job with this key.
    #[schema(min_length = 1, max_length = 256)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) idempotency_key: Option<String>,
    /// Frees the idempotency key when the job ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unique_until_done: bool,
    /// Jobs with the same key run in order.
    #[schema(min_length = 1, max_length = 256)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) partition_key: Option<String>,
    /// Longest time of one run.
    #[schema(minimum = 1, maximum = 31622400000_u64)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeout_ms: Option<u64>,
    /// How long after the enqueue the job may still be started.
    #[schema(minimum = 1, maximum = 31622400000_u64)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deadline_ms: Option<u64>,
    /// Travels with the job; names and values have at most 4 KiB together.
    #[serde(default, deserialize_with = "metadata")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Metadata>,
}

/// A number from 0 to 31, or its name.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum PriorityBody {
    Level(u8),
    Name(String),
}

/// Several jobs to store in one atomic step.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewJobs)]
pub(crate) struct NewJobsBody {
    /// At most 1,000 jobs.
    #[schema(max_items = 1000)]
    #[serde(deserialize_with = "bounded")]
    pub(crate) jobs: Vec<NewJobBody>,
}

/// One job, or a list of them.
pub(crate) enum EnqueueBody {
    One(Box<NewJobBody>),
    Many(Vec<NewJobBody>),
}

impl EnqueueBody {
    /// Reads one job, or several if there is a field `jobs`.
    ///
    /// # Errors
    /// Those of [`json::read`].
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Problem> {
        #[derive(Deserialize)]
        struct Probe<'a> {
            #[serde(borrow)]
            jobs: Option<&'a RawValue>,
        }
        match serde_json::from_slice::<Probe<'_>>(bytes) {
            Ok(Probe { jobs: Some(_) }) => {
                json::read::<NewJobsBody>(bytes).map(|body| Self::Many(body.jobs))
            }
            _ => json::read(bytes).map(Self::One),
        }
    }
}

one_of_schema! { EnqueueBody, "Enqueue" = NewJobBody, "NewJob" | NewJobsBody, "NewJobs" }

impl NewJobBody {
    /// A checked job, without its id.
    pub(crate) fn of(job: &NewJob) -> Self {
        let payload = ShownBytes::of(job.payload());
        let (delay_ms, run_at) = match job.start() {
            Start::After(delay) => (Some(millis(delay)), None),
            Start::At(at) => (None, Some(Time(at))),
        };
        Self {
            id: None,
            kind: job.kind().to_string(),
            payload: payload.json.map(ToOwned::to_owned),
            payload_base64: payload.base64,
            queue: Some(job.queue().to_string()),
            priority: Some(PriorityBody::Level(job.priority().level())),
            max_attempts: Some(job.max_attempts()),
            delay_ms,
            run_at,
            idempotency_key: job.idempotency_key().map(ToString::to_string),
            unique_until_done: job.unique_until_done(),
            partition_key: job.partition_key().map(ToString::to_string),
            timeout_ms: Some(millis(job.timeout())),
            deadline_ms: job.deadline().map(millis),
            metadata: Some(job.metadata().clone()),
        }
    }

    /// The checked job.
    ///
    /// # Errors
    /// 422, naming the field that breaks its limit.
    pub(crate) fn build(self) -> Result<NewJob, Problem> {
        // Only a job with an id of its own may have been sent before, and completed since.
        let may_be_repeat = self.id.is_some();
        let job = self.draft()?.build()?;
        Ok(if may_be_repeat { job.repeated() } else { job })
    }

    /// The job without an identity, as schedules need it.
    pub(crate) fn draft(self) -> Result<JobDraft, Problem> {
        let given = GivenBytes { json: self.payload, base64: self.payload_base64 };
        let payload = given.bytes("payload")?.unwrap_or_else(|| "null".into());
        let mut draft =
            JobDraft::new(self.kind, payload).metadata(self.metadata.unwrap_or_default());
        if let Some(queue) = self.queue {
            draft = draft.queue(queue);
        }
        if let Some(priority) = self.priority {
            draft = draft.priority(priority.get()?);
        }
        if let Some(max_attempts) = self.max_attempts {
            draft = draft.max_attempts(max_attempts);
        }
        draft = match (self.delay_ms, self.run_at) {
            (None, None) => draft,
            (Some(delay_ms), None) => draft.delay(Duration::from_millis(delay_ms)),
            (None, Some(Time(at))) => draft.run_at(at),
            (Some(_), Some(_)) => {
                return Err(Problem::invalid("run_at", "give delay_ms or run_at, not both"));
            }
        };
        if let Some(key) = self.idempotency_key {
            draft = draft.idempotency_key(key);
        }
        if self.unique_until_done {
            draft = draft.unique_until_done();
        }
        if let Some(key) = self.partition_key {
            draft = draft.partition_key(key);
        }
        if let Some(timeout_ms) = self.timeout_ms {
            draft = draft.timeout(Duration::from_millis(timeout_ms));
        }
        if let Some(deadline_ms) = self.deadline_ms {
            draft = draft.deadline(Duration::from_millis(deadline_ms));
        }
        Ok(match self.id {
            Some(id) => draft.id(id),
            None => draft,
        })
    }
}

/// Written by hand, because `untagged` would first read any input into memory.
impl<'de> Deserialize<'de> for PriorityBody {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;

        impl Visitor<'_> for Either {
            type Value = PriorityBody;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number from 0 to 31, or low, normal, high or critical")
            }

            fn visit_u64<E: Error>(self, level: u64) -> Result<PriorityBody, E> {
                let of_range = u8::try_from(level).map(PriorityBody::Level);
                of_range.map_err(|_| E::invalid_value(Unexpected::Unsigned(level), &self))
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<PriorityBody, E> {
                // Refuse a number in quotes: it would be read as an unknown name.
                match name.bytes().all(|byte| byte.is_ascii_digit()) {
                    true => Err(E::invalid_value(Unexpected::Str(name), &self)),
                    false => Ok(PriorityBody::Name(name.to_owned())),
                }
            }
        }

        from.deserialize_any(Either)
    }
}

impl PriorityBody {
    fn get(&self) -> queuekit::Result<Priority> {
        match self {
            Self::Level(level) => Priority::new(*level),
            Self::Name(name) => name.parse(),
        }
    }
}

fn priority_schema() -> Schema {
    let level = ObjectBuilder::new().schema_type(Type::Integer);
    let level = level.minimum(Some(0)).maximum(Some(31));
    let names = ["low", "normal", "high", "critical"];
    let name = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names));
    // As for every field that may be left out.
    let null = ObjectBuilder::new().schema_type(Type::Null);
    utoipa::openapi::schema::OneOfBuilder::new().item(level).item(name).item(null).build().into()
}
