//! Requests to the scripts, and their answers.

mod act;
mod enqueue;
mod exchange;
mod parts;
mod request;
mod round;

pub(crate) use act::{Act, Acted};
