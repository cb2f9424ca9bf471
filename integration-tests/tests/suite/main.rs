//! The suite itself: through wrappers, and against stores that are broken on purpose; and the
//! servers that tests of other stores need.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that fails panics"
)]

mod absent;
mod broken;
mod limits;
mod model;
mod proxy;
mod registry;
mod servers;
mod wrappers;
