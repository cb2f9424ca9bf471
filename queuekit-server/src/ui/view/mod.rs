//! What each page shows, as plain structs that its template renders. Nothing here reads a store.

mod about;
mod access;
mod action;
mod audit;
mod bulk;
mod chart;
mod consumers;
mod doctor;
mod errors;
mod facts;
mod figure;
mod filter;
mod gantt;
mod job;
mod jobs;
mod keys;
mod overview;
mod pager;
mod plot;
mod queue;
mod queues;
mod schedules;
mod shell;
mod sparkline;
mod timeline;
mod tree;
mod when;
mod workers;

pub(crate) use about::*;
pub(crate) use access::*;
pub(crate) use action::*;
pub(crate) use audit::*;
pub(crate) use bulk::*;
pub(crate) use chart::*;
pub(crate) use consumers::*;
pub(crate) use doctor::*;
pub(crate) use errors::*;
pub(crate) use facts::*;
pub(crate) use figure::*;
pub(crate) use filter::*;
pub(crate) use gantt::*;
pub(crate) use job::*;
pub(crate) use jobs::*;
pub(crate) use keys::*;
pub(crate) use overview::*;
pub(crate) use pager::*;
pub(crate) use plot::*;
pub(crate) use queue::*;
pub(crate) use queues::*;
pub(crate) use schedules::*;
pub(crate) use shell::*;
pub(crate) use sparkline::*;
pub(crate) use timeline::*;
pub(crate) use tree::*;
pub(crate) use when::*;
pub(crate) use workers::*;

/// Lets templates embed these parts unescaped: they are templates, which escape what they show.
macro_rules! parts {
    ($($part:ty),+ $(,)?) => { $(impl askama::filters::HtmlSafe for $part {})+ };
}
use parts;
