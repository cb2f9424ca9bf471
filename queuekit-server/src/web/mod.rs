//! What happens to a request before its route: keys, quotas, limits, bodies and errors. The routes
//! are in [`api`](crate::api).

pub(crate) mod access_log;
mod answer_share;
pub(crate) mod auth;
mod auth_failures;
mod body_buffer;
pub(crate) mod connection_end;
pub(crate) mod content_type;
pub(crate) mod csrf;
mod dashboard_options;
pub(crate) mod fair_share;
pub(crate) mod glob;
mod hold_until_sent;
pub(crate) mod json;
pub(crate) mod key_changes_log;
pub(crate) mod keys;
pub(crate) mod limits;
pub(crate) mod long_strings;
pub(crate) mod lookups;
pub(crate) mod memory_budget;
pub(crate) mod middleware;
pub(crate) mod off_the_runtime;
pub(crate) mod operator;
mod options;
pub(crate) mod parsed_bytes;
pub(crate) mod problem;
pub(crate) mod quota;
mod rate_limit;
pub(crate) mod redact;
mod required_scope;
mod resizable_semaphore;
pub(crate) mod response_budget;
mod route_kind;
pub(crate) mod schedule_rates;
pub(crate) mod searches;
mod seen_queues;
pub(crate) mod store_calls;
pub(crate) mod turns;
mod unsent_answers;

pub(crate) use auth::Caller;
pub(crate) use dashboard_options::{BasePath, DashboardOptions, Redaction, SessionSecret};
pub(crate) use json::{Json, OptionalJson};
pub(crate) use keys::Scope;
pub(crate) use options::{HttpLimits, HttpOptions, TlsFiles};
pub(crate) use problem::{Problem, ProblemBody};
pub(crate) use required_scope::{
    AdminScope, Allowed, EnqueueScope, ManageScope, SettleScope, WorkScope,
};
pub(crate) use route_kind::{RouteKind, RouteKinds};
