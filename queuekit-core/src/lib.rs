//! The contract of queuekit: durable jobs, the ten operations of a store, and the pure rules that
//! every store applies.
//!
//! - Stores implement [`Backend`]; [`BackendExt`] adds calls for one item.
//! - [`Capabilities`] leads to what else a store can do: the traits of [`capability`].
//! - [`Client`] enqueues: `client.enqueue(payload).queue("emails").await`.
//! - [`schedule`] enqueues at the times of a cron expression, or at an interval.
//! - [`event`] is a log of events with a delivery for each consumer.
//! - [`memory`] is the store that is also the specification; handlers are tested with it.
//! - [`lifecycle`], [`retry`], [`queue`], [`limits`]: the rules, as pure functions and constants.
//!
//! Nothing here does I/O or needs a runtime.

pub mod backend;
mod bulk;
pub mod capability;
pub mod client;
mod clock;
mod declared;
mod digest;
mod duration_ms;
mod enum_words;
mod error;
mod error_group;
pub mod event;
pub mod history;
mod job;
mod job_ends;
mod json;
mod json_object;
mod json_path;
pub mod lifecycle;
pub mod limits;
mod measured;
pub mod memory;
pub mod metrics;
mod names;
mod openapi;
pub mod queue;
pub mod retry;
mod rfc3339;
pub mod schedule;
mod span;
mod store_limits;
mod url;
mod uuid_like;

pub use async_trait::async_trait;
pub use backend::{
    Ack, AckOutcome, Backend, BackendExt, Capabilities, Cursor, DeadLetter, DeadLetterOutcome,
    DeadLetterTarget, EnqueueOutcome, JobFilter, Lease, LeaseToken, LeaseTtl, Nack, NackKind,
    NackOutcome, Nonce, Page, PageSize, QueuePage, Queues, Reserve, Reserved, TimeRange,
    WeightedQueues,
};
pub use bulk::{BulkAction, BulkActionName, BulkReport, BulkRequest, BulkTotals, bulk};
pub use bytes::Bytes;
pub use client::{
    Client, EmitAll, EmitRequest, Emitted, EnqueueAll, EnqueueRequest, Enqueued, Outcomes,
    TraceContext,
};
pub use clock::{Clock, ManualClock, OffsetClock, SystemClock, Timestamp};
pub use declared::Declared;
pub use error::{Error, ErrorKind, Result};
pub use error_group::{
    ErrorGroup, GroupDelta, GroupId, GroupKey, GroupNote, RecentErrors, SIGNATURE_VERSION,
    Signature,
};
pub use event::{EventDraft, EventId, Subscription, SubscriptionDraft};
pub use job::{
    Checkpoint, CheckpointInfo, Checkpoints, ErrorText, Failure, IntoJob, Job, JobDraft, JobId,
    LogLine, Metadata, NewJob, PAYLOAD_VERSION, Payload, Priority, Progress, Release, ReleaseCause,
    Start, State, Status, StatusSet, Undecodable, UpgradeError,
};
#[doc(hidden)]
pub use json::{as_json, json_depth};
pub use names::{
    CheckpointName, ConsumerName, IdempotencyKey, Kind, PartitionKey, QueueName, ScheduleName,
    WorkerId,
};
pub use queue::{Queue, QueuePatch, QueueSettings};
pub use retry::RetryPolicy;
pub use schedule::{CatchUp, Overlap, Schedule, ScheduleDraft, Scheduler};
/// For the code of `#[derive(Payload)]`.
#[doc(hidden)]
pub use serde_json;
#[doc(hidden)]
pub use span::span;
pub use store_limits::Limits;
#[doc(hidden)]
pub use url::percent_decoded;
