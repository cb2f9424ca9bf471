//! The unit tests of this crate. The library has no test program of its own, because it would
//! compile every case once more, which takes longer than anything else in the workspace. So the
//! few files with unit tests are compiled here, and find here what they use of the library.

#![allow(dead_code, unreachable_pub, reason = "what only other parts of the library use")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that fails panics"
)]

use own_process::alone;
use queuekit_conformance::{CASES, CaseInfo, kit};
use this_test::__test_around;

#[path = "../src/explain.rs"]
mod explain;
#[path = "../src/own_process.rs"]
mod own_process;
#[path = "../src/rules.rs"]
mod rules;
#[path = "../src/skip.rs"]
mod skip;
#[path = "../src/this_test.rs"]
mod this_test;
#[path = "../src/time_limit.rs"]
mod time_limit;
