//! Schedules over the store in memory, and what their cron expressions mean.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that fails panics")]

mod beside;
mod zones;
