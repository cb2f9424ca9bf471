//! What the scripts are asked, and what they answer.

mod act;
mod enqueue;
mod exchange;
mod parts;
mod request;
mod round;

pub(crate) use act::{Act, Acted};
