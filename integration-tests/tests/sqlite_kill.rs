//! Processes that share one SQLite file are killed, and nothing is lost.

#![cfg(unix)]

mod common;

use common::site::SqliteSite;
use queuekit_integration_tests::crash::kill;

#[test]
fn r0_2_no_accepted_job_is_lost_when_processes_are_killed() {
    let site = SqliteSite::default();
    kill(&site, "r0_2_no_accepted_job_is_lost_when_processes_are_killed");
}
