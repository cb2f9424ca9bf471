//! What the scripts are asked, and what they answer.

mod act;
mod enqueue;
mod exchange;
mod request;

pub(crate) use act::{Act, Acted};
