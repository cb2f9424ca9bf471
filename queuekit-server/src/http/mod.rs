//! The HTTP server: who gets in, what is refused, and how it listens. What it answers is for
//! [`api`](crate::api) to say.

pub(crate) mod access;
mod attentive;
pub(crate) mod bound;
mod bucket;
pub(crate) mod caller;
mod connections;
mod content_type;
pub(crate) mod csrf;
pub(crate) mod door;
#[cfg(unix)]
mod files;
pub(crate) mod glob;
mod guesses;
pub(crate) mod held;
pub(crate) mod json;
pub(crate) mod keys;
pub(crate) mod limits;
mod linger;
mod options;
mod permits;
pub(crate) mod problem;
mod purpose;
pub(crate) mod quota;
pub(crate) mod rates;
mod reload;
pub(crate) mod room;
mod server;
mod tls;
pub(crate) mod unsaid;

pub(crate) use caller::Caller;
pub(crate) use json::Json;
pub(crate) use keys::Scope;
pub(crate) use options::{HttpLimits, HttpOptions, TlsFiles, is_this_host, is_this_machine};
pub(crate) use problem::{Problem, ProblemBody};
pub(crate) use purpose::{ToAdmin, ToEnqueue, ToManage, ToSettle, ToWork};
pub(crate) use reload::Reloader;
pub(crate) use server::Server;
