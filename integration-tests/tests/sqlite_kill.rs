//! Processes that share one SQLite file are killed, and nothing is lost.

#![cfg(unix)]

mod common;

use common::site::SqliteSite;
use queuekit_integration_tests::crash::{kill, open_at_once};

#[test]
fn r0_2_no_accepted_job_is_lost_when_processes_are_killed() {
    let site = SqliteSite::default();
    kill(&site, "r0_2_no_accepted_job_is_lost_when_processes_are_killed");
}

#[test]
fn processes_that_make_the_file_at_once_all_open_it() {
    let site = SqliteSite::default();
    open_at_once(&site, "processes_that_make_the_file_at_once_all_open_it");
}
