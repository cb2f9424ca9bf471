//! Of what comes due at one instant one call looks at a part (contract R5.9).

use crate::common::store_fixture::complete;
use crate::scale::Scale;
use futures_util::StreamExt;
use queuekit_conformance::kit::{DAY, HOUR, build, keyed, millis, request};
use queuekit_conformance::this_test;
use queuekit_core::capability::Admin;
use queuekit_core::queue::{Count, KeyOnWait, Order, QueuePatch};
use queuekit_core::{
    Backend, Clock, JobFilter, JobId, Lease, NewJob, QueueName, Status, SystemClock,
};
use queuekit_integration_tests::crash::is_long;
use redis::{Client, cmd};

/// No script of a read asks for more entries than this.
const ASKED: u64 = 5000;
/// Nor does one that counts ask for more than this: calls of others wait for it whenever figures
/// are read.
const COUNTED: u64 = 2000;

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

/// A reading of a `skip` queue takes short scripts, though no reserve has sorted what came due.
#[tokio::test]
async fn r8_1_a_read_looks_in_parts_at_keys_whose_jobs_came_due_together() {
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let skip = QueuePatch::default().key_on_wait(KeyOnWait::Skip);
    let jobs = flood(&scale, &skip, |n| format!("k{:03}", n % 200)).await;
    assert_counts(&scale, [200, 0, jobs.len() as u64 - 200]).await;
    let filter = JobFilter::default().limit(200);
    let (asked, page) = most_asked(&scale, scale.store().list_jobs(&filter)).await;
    assert!(asked <= ASKED, "a script of a page asks for {asked} entries");
    let page = page.unwrap().items;
    assert_eq!(page.iter().filter(|job| job.status == Status::Ready).count(), 200);
}

/// Likewise if each key has jobs before them whose time has not come.
#[tokio::test]
async fn r8_1_likewise_behind_jobs_whose_time_has_not_come() {
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let skip = QueuePatch::default().key_on_wait(KeyOnWait::Skip);
    scale.store().configure(&QueueName::default(), &skip).await.unwrap();
    for delay in [DAY, HOUR] {
        let job = |n: usize| build(keyed(&format!("k{}", n % 20)).delay(delay));
        for _ in 0..10 {
            let jobs: Vec<NewJob> = (0..1000).map(job).collect();
            scale.store().enqueue(&jobs).await.unwrap();
        }
    }
    scale.clock.jump(millis(HOUR * 2)).await;
    assert_counts(&scale, [20, 10_000, 9980]).await;
}

/// Likewise if none of the many jobs of a key is due, or blocked.
#[tokio::test]
async fn r8_3_the_jobs_of_a_key_that_wait_for_their_time_are_counted_in_parts() {
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let skip = QueuePatch::default().key_on_wait(KeyOnWait::Skip);
    scale.store().configure(&QueueName::default(), &skip).await.unwrap();
    for _ in 0..12 {
        let jobs: Vec<NewJob> = (0..1000).map(|_| build(keyed("k").delay(DAY))).collect();
        scale.store().enqueue(&jobs).await.unwrap();
    }
    assert_counts(&scale, [0, 12_000, 0]).await;
}

/// Guard: a key with many such queues had the calls of others wait for seconds.
#[tokio::test]
async fn s6_the_jobs_of_many_keys_are_counted_by_short_scripts() {
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let jobs: Vec<NewJob> = (0..1000).map(|n| build(keyed(&format!("k{n}")))).collect();
    scale.store().enqueue(&jobs).await.unwrap();
    let names = [QueueName::default()];
    let (lines, queues) = monitored(&scale, scale.store().find_queues(&names)).await;
    assert_eq!(queues.unwrap()[0].counts.get(Status::Ready), Count::exact(1000));
    let scripts = lines.iter().filter(|line| is_script(line)).count();
    assert!(scripts >= 10, "{scripts} scripts for 1000 keys");
}

/// Asserts how many jobs are ready, scheduled and blocked, exactly, and that no script looked at
/// many to find out.
async fn assert_counts(scale: &Scale, expected: [u64; 3]) {
    let names = [QueueName::default()];
    let (asked, queues) = most_asked(scale, scale.store().find_queues(&names)).await;
    let counts = queues.unwrap().remove(0).counts;
    let statuses = [Status::Ready, Status::Scheduled, Status::Blocked];
    assert_eq!(statuses.map(|status| counts.get(status)), expected.map(Count::exact));
    assert!(asked <= COUNTED, "a script of the figures asks for {asked} entries");
}

/// The most entries that a script has asked for during a call.
async fn most_asked<T>(scale: &Scale, call: impl Future<Output = T>) -> (u64, T) {
    let (lines, answer) = monitored(scale, call).await;
    let (mut most, mut asked) = (0, 0);
    for line in lines {
        let limit = line.split_once("\"LIMIT\" \"0\" \"").map(|(_, limit)| limit);
        let limit = limit.and_then(|limit| limit.split('"').next()?.parse::<u64>().ok());
        // The entries of a script are between its line and that of another.
        asked = if is_script(&line) { 0 } else { asked + limit.unwrap_or_default() };
        most = most.max(asked);
    }
    (most, answer)
}

/// What Redis was asked during a call.
async fn monitored<T>(scale: &Scale, call: impl Future<Output = T>) -> (Vec<String>, T) {
    let client = Client::open(scale.stage.server.as_str()).unwrap();
    let monitor = client.get_async_monitor().await.unwrap();
    let answer = call.await;
    let _: String = scale.stage.ask(cmd("ECHO").arg("end")).await;
    let lines = monitor.into_on_message::<String>();
    let is_before = |line: &String| std::future::ready(!line.contains("\"ECHO\""));
    (lines.take_while(is_before).collect().await, answer)
}

fn is_script(line: &str) -> bool {
    line.contains("\"EVAL")
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
