//! Of what comes due at one instant one call looks at a part (contract R5.9).

use crate::common::store_fixture::complete;
use crate::scale::Scale;
use queuekit_conformance::kit::{HOUR, build, keyed, millis, request};
use queuekit_conformance::this_test;
use queuekit_core::capability::Admin;
use queuekit_core::queue::{KeyOnWait, Order, QueuePatch};
use queuekit_core::{Backend, Clock, JobId, Lease, NewJob, QueueName, SystemClock};
use queuekit_integration_tests::crash::is_long;
use redis::cmd;

/// Stores jobs that come due at one instant, and moves the clock there. Returns their order.
async fn flood(scale: &Scale, patch: &QueuePatch, key: impl Fn(usize) -> String) -> Vec<JobId> {
    let store = scale.store();
    store.configure(&QueueName::default(), patch).await.unwrap();
    let at = SystemClock::default().now() + HOUR;
    let count = if is_long() { 100_000 } else { 20_000 };
    let jobs: Vec<NewJob> = (0..count).map(|n| build(keyed(&key(n)).run_at(at))).collect();
    for jobs in jobs.chunks(1000) {
        store.enqueue(jobs).await.unwrap();
    }
    scale.clock.jump(millis(HOUR * 2)).await;
    jobs.iter().map(NewJob::id).collect()
}

/// Serves all of these jobs, each call within its bound of commands, in this order.
#[expect(clippy::print_stdout, reason = "figures are for reading")]
async fn serve_flood(scale: &Scale, jobs: &[JobId]) {
    let mut served = Vec::new();
    while served.len() < jobs.len() {
        let limit = fastrand::usize(1..=1000);
        let (cost, leases) = scale.commands(scale.reserve(limit)).await;
        assert!(!leases.is_empty(), "{} are served", served.len());
        let bound = 3000 + 20 * leases.len() as u64;
        assert!(cost <= bound, "{cost} commands for {} of {limit} leases", leases.len());
        served.extend(leases.iter().map(Lease::id));
        complete(scale.store(), leases).await;
    }
    assert_eq!(served, jobs, "out of order");
    println!("{} jobs; slowest {:?}", jobs.len(), scale.slowest().await);
    scale.stage.assert_exact().await;
}

/// Of many keys that come due together one call looks at some, and the next ones continue.
#[tokio::test]
async fn r5_9_keys_that_come_due_together_are_looked_at_in_parts() {
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let fair = QueuePatch::default().order(Order::Fair);
    let jobs = flood(&scale, &fair, |n| format!("k{n:06}")).await;
    serve_flood(&scale, &jobs).await;
}

/// Under `skip`, of many jobs of a key that come due together one call looks at some. A reserve
/// says that there are more.
#[tokio::test]
async fn r5_9_jobs_of_a_key_that_come_due_together_are_looked_at_in_parts() {
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let skip = QueuePatch::default().key_on_wait(KeyOnWait::Skip).per_key(900);
    let mut jobs = flood(&scale, &skip, |_| "k".into()).await;
    let late = build(keyed("k"));
    jobs.push(late.id());
    let (cost, stored) = scale.commands(scale.store().enqueue(&[late])).await;
    stored.unwrap();
    assert!(cost <= 100, "{cost} commands of an enqueue");
    let reserved = scale.store().reserve(&request(QueueName::default(), 1000)).await.unwrap();
    assert!(reserved.more, "jobs are left to the next call");
    let leased: Vec<JobId> = reserved.leases.iter().map(Lease::id).collect();
    assert_eq!(leased, jobs.drain(..900).collect::<Vec<_>>());
    complete(scale.store(), reserved.leases).await;
    serve_flood(&scale, &jobs).await;
}

/// An alarm that no key knows of rings once.
#[tokio::test]
async fn r5_9_an_alarm_of_an_unknown_key_is_removed() {
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let fair = QueuePatch::default().order(Order::Fair);
    scale.store().configure(&QueueName::default(), &fair).await.unwrap();
    scale.store().enqueue(&[build(keyed("k"))]).await.unwrap();
    let mut stray = cmd("ZADD");
    stray.arg(scale.stage.key("default", "alarms")).arg(&["0", "nobody"]);
    let _: i64 = scale.stage.ask(&stray).await;
    let leases = scale.reserve(10).await;
    assert_eq!(leases.len(), 1);
    complete(scale.store(), leases).await;
    scale.stage.assert_exact().await;
}
