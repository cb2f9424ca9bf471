//! The queries and bodies of requests, and the bodies of answers, as the server reads and writes
//! them and as commands write and read them.

mod audit;
mod bounded_list;
mod bulk;
mod bytes;
mod counted_statuses;
mod enqueued;
mod error_group;
mod event;
mod event_retention;
mod filter;
mod finding;
mod history;
mod job;
mod job_query;
mod metadata;
mod new_event;
mod new_job;
mod new_schedule;
mod note;
mod nullable;
mod one_of_schema;
mod pause;
mod schedule;
mod subscription;
mod time;
mod token;
mod worker;

pub(crate) use audit::{AuditBody, AuditEntryBody, AuditQuery};
pub(crate) use bounded_list::{BATCH, bounded, entries, items};
pub(crate) use bulk::{BulkBody, BulkReportBody};
pub(crate) use bytes::{GivenBytes, ShownBytes};
pub(crate) use counted_statuses::COUNTED_STATUSES;
pub(crate) use enqueued::EnqueueOutcomesBody;
pub(crate) use error_group::{
    ErrorGroupBody, ErrorGroupQuery, ErrorGroupsBody, ErrorGroupsQuery, MERGED_QUEUES,
    RecentErrorsBody,
};
pub(crate) use event::{EmittedManyBody, EventQuery, EventsBody};
pub(crate) use event_retention::RetentionBody;
pub(crate) use filter::FilterBody;
pub(crate) use finding::FindingsBody;
pub(crate) use history::{HistoryBody, HistoryParams, RunsRowBody, TotalsRowBody, sum_of};
pub(crate) use job::{
    CheckpointInfoBody, CheckpointInfosBody, ExaminedBody, JobsBody, LeasedBody, WhyBody,
    stored_job,
};
pub(crate) use job_query::{JobQuery, PageQuery, within};
pub(crate) use metadata::metadata;
pub(crate) use new_event::{NewEventBody, NewEventsBody};
pub(crate) use new_job::{EnqueueBody, NewJobBody, NewJobsBody, PriorityBody};
pub(crate) use new_schedule::NewScheduleBody;
pub(crate) use note::{NewNoteBody, NoteBody, NoteQuery};
pub(crate) use nullable::nullable;
pub(crate) use one_of_schema::one_of_schema;
pub(crate) use pause::PauseBody;
pub(crate) use schedule::{
    NextRunsBody, ScheduleBody, ScheduleRunBody, ScheduledJobBody, SchedulesBody,
};
pub(crate) use subscription::{
    ConsumerStatsBody, NewSubscriptionBody, ReplayBody, ReplayedBody, SubscriptionBody,
    SubscriptionsBody,
};
pub(crate) use time::{Time, millis};
pub(crate) use token::TokenBody;
pub(crate) use worker::{
    ControlBody, ControlledBody, OrdersBody, RunningBody, UndecodableKindBody, WorkerBody,
    WorkersBody,
};
