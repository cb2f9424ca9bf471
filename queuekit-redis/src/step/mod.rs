//! Requests to the scripts that change jobs, and their answers.

mod actions;
mod enqueue;
pub(crate) mod exchange;
mod parts;
mod reserve;

pub(crate) use actions::{Acted, Action};
pub(crate) use enqueue::{Grouped, Refusals, job_args};
pub(crate) use exchange::{Answer, Ask, Outcomes, Part};
pub(crate) use parts::joined;
pub(crate) use reserve::{Round, share};
