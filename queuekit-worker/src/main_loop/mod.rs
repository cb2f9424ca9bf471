//! The loop of a worker: collect outcomes, settle them, fetch work, start it, wait.

mod dispatch;
mod fetch;
mod in_flight;
mod kind_limits;
pub(crate) mod pump;
mod rest;
pub(crate) mod serving;
mod settle;
mod shutdown;
mod wait_for_more;
