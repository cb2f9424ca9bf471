//! What a store can do besides its ten operations. Ask
//! [`Backend::capabilities`](crate::Backend::capabilities).

mod about;
mod admin;
mod audit;
mod checkpoints;
mod control;
mod error_groups;
mod exchange;
mod history;
mod inspect;
mod leases;
mod migrations;
mod outbox;
mod presence;
mod schedules;
mod subscribers;
mod undecodable;
mod undecodable_findings;
mod upkeep;
mod wakeup;
mod wakeups;
mod why;

pub use about::{About, Running};
pub use admin::{Admin, AdminExt, CancelOutcome, RescheduleOutcome, RetryOutcome, admit_retries};
pub use audit::{Act, AuditEntry, AuditLog};
pub use checkpoints::{CheckpointOutcome, KeepCheckpoints, NewCheckpoint};
pub use control::{Control, OrderedMode, Orders, WorkerOrder, admit_ordered};
pub use error_groups::ErrorGroups;
pub use exchange::{Exchange, Exchanged, Settlement};
pub use history::History;
pub use inspect::{Cause, Durability, Fact, Finding, Inspect, PoolUse, Severity};
pub use leases::{ExtendOutcome, Leases, Report, ReportOutcome};
pub use migrations::{Migration, Migrations, SchemaStatus};
pub(crate) use outbox::emitted;
pub use outbox::{
    Emission, EmitOutcome, EventFilter, EventPage, Outbox, StoredEvents, StoredSettings,
};
pub use presence::{Beat, BeatTtl, Served, WorkerInfo, WorkerPage};
pub use schedules::{
    ScheduleChange, ScheduleChanged, ScheduleQuery, ScheduleRow, ScheduleRows, Schedules,
};
pub(crate) use subscribers::Subscribers;
pub use undecodable::UndecodableKind;
pub use undecodable_findings::undecodable_kinds;
pub use upkeep::{Upkeep, UpkeepReport};
pub use wakeup::Wakeup;
pub use wakeups::{RestGuard, Resting, WakeupHub, Wakeups};
pub use why::{Why, WhyFacts};
