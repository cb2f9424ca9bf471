//! Workers in answers, written by the server and read by commands.

use std::num::NonZeroU32;

use queuekit::JobId;
use queuekit::jobs::Kind;
use queuekit::workers::{OrderedMode, Orders, Running, UndecodableKind};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Time;
use crate::web::Problem;

/// A page of the workers that have sent a beat recently, by id.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Workers)]
pub(crate) struct WorkersBody {
    pub(crate) workers: Vec<WorkerBody>,
    /// Send it as `after` for the next page; missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
}

/// A listed worker.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Worker)]
pub(crate) struct WorkerBody {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) queues: Vec<String>,
    /// Whether it serves more queues than it names.
    pub(crate) more_queues: bool,
    pub(crate) kinds: Vec<String>,
    /// Whether it has handlers for more kinds than it names.
    pub(crate) more_kinds: bool,
    pub(crate) slots: u32,
    pub(crate) running: u32,
    /// Time since its last beat.
    pub(crate) age_ms: u64,
    /// For how long it makes no calls, and is listed longer.
    #[serde(default)]
    pub(crate) quiet_ms: u64,
    /// The machine; empty if it does not tell.
    #[serde(default)]
    pub(crate) host: String,
    /// The number of its process.
    #[schema(format = Int64, maximum = 4_294_967_295_u64)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pid: Option<u32>,
    /// The version of its library; empty if it does not tell.
    #[serde(default)]
    pub(crate) version: String,
    /// When it was started, by its own clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) started_at: Option<Time>,
    /// Jobs that it runs, at most 100; a key that is restricted sees them if it is for all queues
    /// and kinds of the worker.
    #[serde(default)]
    pub(crate) jobs: Vec<RunningBody>,
    /// What it was ordered to do and has not obeyed yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) orders: Option<OrdersBody>,
}

/// A job that a worker runs.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RunningJob)]
pub(crate) struct RunningBody {
    #[schema(format = Uuid)]
    pub(crate) id: String,
    pub(crate) kind: String,
    /// When this run began, by the clock of the worker.
    pub(crate) since: Time,
}

impl RunningBody {
    pub(crate) fn of(job: &Running) -> Self {
        let (id, kind) = (job.id.to_string(), job.kind.to_string());
        Self { id, kind, since: Time(job.since) }
    }

    /// # Errors
    /// 422 if the id or the kind breaks a limit.
    pub(crate) fn build(&self) -> Result<Running, Problem> {
        let wrong = |error| Problem::from(error).in_field("jobs");
        let id: JobId = self.id.parse().map_err(wrong)?;
        let kind = Kind::new(self.kind.as_str()).map_err(wrong)?;
        Ok(Running::new(id, kind, self.since.0))
    }
}

/// A kind of which a worker could not read every payload, so that it released jobs for others.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UndecodableKind)]
pub(crate) struct UndecodableKindBody {
    kind: String,
    /// How often it did so, since `first`.
    #[schema(value_type = u32, minimum = 1)]
    times: NonZeroU32,
    /// When it did so first, by the clock of the worker.
    first: Time,
    /// When it did so last.
    last: Time,
    /// What it could not read last; cut at 255 bytes.
    error: String,
}

impl UndecodableKindBody {
    /// # Errors
    /// 422 if the kind breaks a limit.
    pub(crate) fn build(&self) -> Result<UndecodableKind, Problem> {
        let wrong = |error| Problem::from(error).in_field("undecodable");
        let kind = Kind::new(self.kind.as_str()).map_err(wrong)?;
        let mut said = UndecodableKind::new(kind, &self.error, self.last.0);
        (said.times, said.first) = (self.times.get(), self.first.0);
        Ok(said)
    }
}

/// What a worker was ordered to do and has not obeyed yet.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Orders)]
pub(crate) struct OrdersBody {
    /// The number of the last order, which the worker sends as `obeyed` once it has obeyed.
    pub(crate) seq: u64,
    /// `quiet`: reserve no more jobs. `resume`: reserve jobs again. `stop`: drain, and end.
    #[schema(value_type = Option<OrderedMode>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<String>,
    /// How many jobs to run at once, at most.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) slots: Option<u32>,
}

impl OrdersBody {
    /// None if there is nothing to obey.
    pub(crate) fn of(orders: Orders) -> Option<Self> {
        let Orders { seq, mode, slots } = orders;
        let (mode, slots) = (mode.map(|mode| mode.to_string()), slots.map(NonZeroU32::get));
        (!orders.is_empty()).then_some(Self { seq, mode, slots })
    }
}

/// An order, and to which workers. Exactly one of `workers`, `name` and `all` says to which, and
/// exactly one of `order` and `slots` which order.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = Control)]
pub(crate) struct ControlBody {
    /// The ids of workers.
    #[schema(max_items = 1000)]
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "super::bounded")]
    pub(crate) workers: Vec<String>,
    /// The name that workers share.
    #[schema(max_length = 128)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// All workers that the key may give orders to.
    pub(crate) all: bool,
    /// `quiet`: reserve no more jobs. `resume`: reserve jobs again. `stop`: drain, and end.
    #[schema(value_type = Option<OrderedMode>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) order: Option<String>,
    /// Maximum jobs to run at once; a worker never runs more than it was started with.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) slots: Option<u32>,
}

/// The workers that were given an order.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Controlled)]
pub(crate) struct ControlledBody {
    /// Their ids.
    pub(crate) workers: Vec<String>,
}
