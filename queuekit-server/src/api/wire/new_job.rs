//! A job as it is given.

use std::fmt;
use std::time::Duration;

use queuekit::{JobDraft, JobId, Metadata, NewJob, Priority};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::schema::{OneOfBuilder, Type};
use utoipa::openapi::{ObjectBuilder, Schema};

use super::{Given, Time, bounded, metadata, one_of};
use crate::http::{Problem, json};

/// A job to store.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewJob)]
pub(crate) struct NewJobBody {
    /// Made by you, so that a call whose answer was lost can be repeated.
    #[schema(value_type = Option<String>, format = Uuid)]
    pub(crate) id: Option<JobId>,
    /// Which handler runs it.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$", example = "email")]
    pub(crate) r#type: String,
    /// Any JSON; stored byte for byte.
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) payload: Option<Box<RawValue>>,
    /// Any bytes, instead of `payload`.
    #[schema(format = Byte)]
    pub(crate) payload_base64: Option<String>,
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$", default = "default")]
    pub(crate) queue: Option<String>,
    #[schema(schema_with = priority_schema, required = false)]
    pub(crate) priority: Option<PriorityBody>,
    #[schema(minimum = 1, maximum = 1000, default = 3)]
    pub(crate) max_attempts: Option<u32>,
    #[schema(maximum = 31622400000_u64)]
    pub(crate) delay_ms: Option<u64>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) run_at: Option<Time>,
    #[schema(min_length = 1, max_length = 256)]
    pub(crate) idempotency_key: Option<String>,
    /// The idempotency key is free again when the job has ended.
    #[serde(default)]
    pub(crate) unique_until_done: bool,
    #[schema(min_length = 1, max_length = 256)]
    pub(crate) partition_key: Option<String>,
    #[schema(minimum = 1, maximum = 31622400000_u64)]
    pub(crate) timeout_ms: Option<u64>,
    #[schema(minimum = 1, maximum = 31622400000_u64)]
    pub(crate) deadline_ms: Option<u64>,
    #[serde(default, deserialize_with = "metadata")]
    #[schema(value_type = Option<std::collections::BTreeMap<String, String>>)]
    pub(crate) metadata: Option<Metadata>,
}

/// A number from 0 to 31, or its name.
#[derive(Clone, Debug)]
pub(crate) enum PriorityBody {
    Level(u8),
    Name(String),
}

/// Several jobs to store in one atomic step.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewJobs)]
pub(crate) struct NewJobsBody {
    /// At most 1,000.
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
    /// Which of both it is, its field `jobs` says.
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

one_of! { EnqueueBody, "Enqueue" = NewJobBody, "NewJob" | NewJobsBody, "NewJobs" }

impl NewJobBody {
    /// The job, checked.
    ///
    /// # Errors
    /// 422, naming the field that breaks its limit.
    pub(crate) fn build(self) -> Result<NewJob, Problem> {
        // Finished jobs need to be searched only for one that may have been sent before.
        let may_be_repeat = self.id.is_some();
        let job = self.draft()?.build()?;
        Ok(if may_be_repeat { job.repeated() } else { job })
    }

    /// The same without an identity, for what makes jobs again and again.
    pub(crate) fn draft(self) -> Result<JobDraft, Problem> {
        let given = Given { json: self.payload, base64: self.payload_base64 };
        let payload = given.bytes("payload")?.unwrap_or_else(|| "null".into());
        let mut draft =
            JobDraft::new(self.r#type, payload).metadata(self.metadata.unwrap_or_default());
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

/// `untagged` would first read whatever is sent into memory.
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
                // A number in quotes is one that went through a program which takes it for text.
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
    OneOfBuilder::new().item(level).item(name).build().into()
}
