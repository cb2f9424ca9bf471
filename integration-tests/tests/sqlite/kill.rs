//! Processes that share one SQLite file are killed, and nothing is lost.

use crate::common::sqlite_crash_site::SqliteSite;
use queuekit_conformance::this_test;
use queuekit_integration_tests::crash::{
    kill, kill_consumers, kill_schedulers, open_at_once, pause, tick_at_once,
};

#[test]
fn r0_2_no_accepted_job_is_lost_when_processes_are_killed() {
    let site = SqliteSite::default();
    kill(&site, this_test!());
}

#[test]
fn r3_3_a_worker_that_stood_still_beyond_its_lease_is_fenced() {
    let site = SqliteSite::default();
    pause(&site, this_test!());
}

#[test]
fn r14_1_every_event_reaches_each_consumer_though_processes_are_killed() {
    let test = this_test!();
    let site = SqliteSite::default();
    kill_consumers(&site, test);
}

#[test]
fn r15_2_each_occurrence_is_enqueued_once_though_schedulers_are_killed() {
    let test = this_test!();
    let site = SqliteSite::default();
    kill_schedulers(&site, test);
}

#[test]
fn r15_2_schedulers_of_one_process_enqueue_each_occurrence_once() {
    let test = this_test!();
    let site = SqliteSite::default();
    tick_at_once(&site, test);
}

#[test]
fn processes_that_make_the_file_at_once_all_open_it() {
    let site = SqliteSite::default();
    open_at_once(&site, this_test!());
}
