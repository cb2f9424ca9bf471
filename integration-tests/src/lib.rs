//! x
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case that fails panics"
)]
pub mod cases;
mod harness;
pub mod kit;
mod list;
mod memory;
pub mod model;
mod registry;
mod rules;
mod runner;
pub mod worker;

pub use harness::{Expect, Harness, Level, Need, World};
pub use memory::MemoryHarness;
pub use registry::{CASES, CaseInfo};
pub use rules::{RULES, STORE_RULES};
pub use runner::{CASE_TIMEOUT, Report, Verdict, run_all, run_case, test_case};
