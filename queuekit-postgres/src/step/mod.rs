//! The work of calls, each a step on one connection. Frequent calls are one statement; the others
//! read the jobs, ask core what becomes of them, and write that.

mod admin;
mod audit;
mod beat;
mod change;
mod columns;
mod dirty_keys;
mod enqueue;
mod error_groups;
mod event_log;
mod event_upkeep;
mod extend;
mod fold;
mod hints;
mod lease;
mod outbox;
mod payloads;
mod prune;
mod quotas;
mod reclaim;
mod repair;
mod reserve;
mod schedules;
mod settle;
mod write;

pub(crate) use admin::*;
pub(crate) use audit::{list_acts, record_act};
pub(crate) use beat::{beat, forget_worker};
pub(crate) use change::Change;
pub(crate) use enqueue::{Asked, ROUNDS, enqueue, enqueue_in, gone, open_queues};
pub(crate) use error_groups::list_error_groups;
pub(crate) use event_log::list_events;
pub(crate) use event_upkeep::*;
pub(crate) use extend::{extend, report};
pub(crate) use fold::fold;
pub(crate) use hints::Hints;
pub(crate) use lease::Granted;
pub(crate) use outbox::*;
pub(crate) use payloads::{Payloads, payloads};
pub(crate) use prune::prune;
pub(crate) use quotas::available;
pub(crate) use repair::repair;
pub(crate) use reserve::{Done, Round, clear};
pub(crate) use schedules::{change_schedule, find_schedules};
pub(crate) use settle::{ack, dead_letter, nack};
