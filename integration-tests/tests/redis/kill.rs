//! Processes that share one Redis store are killed, and its server, and nothing is lost.

use crate::common::redis_crash_site::{KilledRedis, RedisSite};
use queuekit_conformance::{skip, this_test};
use queuekit_integration_tests::crash::{
    Role, Server, kill, kill_consumers, kill_schedulers, kill_server, open_at_once, pause,
    tick_at_once,
};
use queuekit_integration_tests::servers::OwnRedis;

#[test]
fn r0_2_no_accepted_job_is_lost_when_processes_are_killed() {
    let test = this_test!();
    let Some(site) = RedisSite::shared(test) else { return };
    kill(&site, test);
}

#[test]
fn r3_3_a_worker_that_stood_still_beyond_its_lease_is_fenced() {
    let test = this_test!();
    let Some(site) = RedisSite::shared(test) else { return };
    pause(&site, test);
}

#[test]
fn r14_1_every_event_reaches_each_consumer_though_processes_are_killed() {
    let test = this_test!();
    let Some(site) = RedisSite::shared(test) else { return };
    kill_consumers(&site, test);
}

#[test]
fn r15_2_each_occurrence_is_enqueued_once_though_schedulers_are_killed() {
    let test = this_test!();
    let Some(site) = RedisSite::shared(test) else { return };
    kill_schedulers(&site, test);
}

#[test]
fn r15_2_schedulers_of_one_process_enqueue_each_occurrence_once() {
    let test = this_test!();
    let Some(site) = RedisSite::shared(test) else { return };
    tick_at_once(&site, test);
}

#[test]
fn processes_that_open_a_new_store_at_once_all_open_it() {
    let test = this_test!();
    let Some(site) = RedisSite::shared(test) else { return };
    open_at_once(&site, test);
}

/// With `appendfsync always`: what it has answered is on disk. With `everysec` a server whose last
/// sync is still running postpones its next write for up to 2 s, but still answers.
#[test]
fn r11_1_no_accepted_job_is_lost_when_the_server_is_killed() {
    let test = this_test!();
    if Role::of_this_process().is_some() {
        return kill_server(&RedisSite::of(None), None, test);
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let settings = OwnRedis::settings().set("appendfsync", "always");
    let Some(server) = runtime.block_on(settings.start()) else {
        return skip(test, "there is no Redis server");
    };
    let mut server = KilledRedis(server);
    let site = RedisSite::of(Some(&server));
    kill_server(&site, Some(&mut server as &mut dyn Server), test);
}
