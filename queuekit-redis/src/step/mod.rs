//! Requests to the scripts, and their answers.

mod actions;
mod enqueue;
mod exchange;
mod parts;
mod request;
mod round;

pub(crate) use actions::{Acted, Action};
