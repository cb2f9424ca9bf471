//! A script that reads many large jobs stops in time: meanwhile the server answers nobody.

use std::time::Duration;

use crate::common::store_fixture::complete;
use crate::scale::Scale;
use queuekit_conformance::kit::{DAY, HOUR, build, draft, request, unique};
use queuekit_conformance::this_test;
use queuekit_core::capability::{
    Admin, CancelOutcome, Exchange, Leases, Report, ReportOutcome, Settlement, Upkeep,
};
use queuekit_core::queue::{Order, QueuePatch};
use queuekit_core::{
    Ack, AckOutcome, Backend, EnqueueOutcome, JobDraft, JobId, Lease, Nack, NackKind, NackOutcome,
    NewJob, Priority, QueueName, Status,
};

const MIB: usize = 1024 * 1024;
const JOBS: usize = 48;
/// The scripts that 48 jobs of 1 MiB take, if each stops after 16 MiB.
const SCRIPTS: u64 = 3;

fn large() -> JobDraft {
    JobDraft::new("work", vec![b'x'; MIB])
}

/// Stores jobs of 1 MiB, in batches that a call may have.
async fn store_large(scale: &Scale, count: usize, draft: impl Fn(usize) -> JobDraft) -> Vec<JobId> {
    let mut ids = Vec::new();
    for first in (0..count).step_by(6) {
        let jobs = (first..count.min(first + 6)).map(|n| build(draft(n)));
        let jobs: Vec<NewJob> = jobs.collect();
        scale.store().enqueue(&jobs).await.unwrap();
        ids.extend(jobs.iter().map(NewJob::id));
    }
    ids
}

async fn leased(scale: &Scale, count: usize) -> Vec<Lease> {
    let mut leases = Vec::new();
    while leases.len() < count {
        leases.extend(scale.reserve(count).await);
    }
    leases
}

async fn count_of(scale: &Scale, status: Status) -> usize {
    let queues = scale.store().find_queues(&[QueueName::default()]).await.unwrap();
    queues[0].counts.get(status).value as usize
}

async fn scripts(scale: &Scale) -> u64 {
    scale.calls_of("evalsha").await + scale.calls_of("eval").await
}

/// Guard: a batch of 60 KB read 1 GB of jobs that held its idempotency keys, and the server
/// answered nobody for 5 s.
#[tokio::test]
async fn s6_the_holder_of_an_idempotency_key_is_found_without_its_payload() {
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let key = |n: usize| format!("k{n}");
    let held = |n: usize| build(unique(&key(n)));
    let holders: Vec<NewJob> = (0..JOBS).map(held).collect();
    scale.store().enqueue(&holders).await.unwrap();
    let again: Vec<NewJob> = (0..JOBS).map(held).collect();
    let (_, outcomes) = scale.commands(scale.store().enqueue(&again)).await;
    let duplicate = |job: &NewJob| EnqueueOutcome::Duplicate { existing: job.id() };
    assert_eq!(outcomes.unwrap(), holders.iter().map(duplicate).collect::<Vec<_>>());
    // The key, and the state, of each.
    let reads = scale.calls_of("hget").await;
    assert!(reads <= 2 * JOBS as u64 + 5, "{reads} reads for {JOBS} keys");
}

/// Guard: the first jobs of each queue were read, and so 1 GB of a thousand queues.
#[tokio::test]
async fn s6_a_call_that_names_large_jobs_of_many_queues_reads_few_of_them() {
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let queue = |n: usize| QueueName::new(format!("q{n}")).unwrap();
    let job = |n: usize, payload: &str| JobDraft::new("work", payload.to_owned()).queue(queue(n));
    let stored: Vec<NewJob> = (0..JOBS).map(|n| build(job(n, "one"))).collect();
    scale.store().enqueue(&stored).await.unwrap();
    let other = |(n, stored): (usize, &NewJob)| build(job(n, "two").id(stored.id()));
    let others: Vec<NewJob> = stored.iter().enumerate().map(other).collect();
    let (_, outcomes) = scale.commands(scale.store().enqueue(&others)).await;
    let conflict = |job: &NewJob| EnqueueOutcome::Conflict { existing: job.id() };
    assert_eq!(outcomes.unwrap(), stored.iter().map(conflict).collect::<Vec<_>>());
    // The settings of each queue, and the data of the first.
    let reads = scale.calls_of("hmget").await;
    assert!(reads <= JOBS as u64 + 2, "{reads} reads for {JOBS} queues");
}

/// Guard: the parts in which a window is read grew to 256 jobs while the answer had room, so that
/// 480 small jobs before large ones had 256 MiB read at once.
#[tokio::test]
async fn s6_a_window_of_small_jobs_and_then_large_ones_is_read_in_small_parts() {
    const SMALL: usize = 480;
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let small: Vec<NewJob> =
        (0..SMALL).map(|_| build(draft().priority(Priority::CRITICAL))).collect();
    scale.store().enqueue(&small).await.unwrap();
    store_large(&scale, 2 * JOBS, |_| large()).await;
    let leases = scale.reserve(1000).await;
    assert!((SMALL..SMALL + 9).contains(&leases.len()), "{} leases", leases.len());
    let used = scale.memory_of_scripts().await;
    assert!(used < 56 * MIB as u64, "{used} bytes");
}

/// Guard: a reserve read up to 100 MiB of jobs whose deadline had passed.
#[tokio::test]
async fn s6_large_jobs_that_come_too_late_are_taken_out_in_parts() {
    let Some(scale) = Scale::open(this_test!()).await else { return };
    store_large(&scale, JOBS, |_| large().deadline(Duration::from_secs(1))).await;
    scale.clock.jump(HOUR.as_millis() as i64).await;
    let reserved = scale.store().reserve(&request(QueueName::default(), 1000)).await.unwrap();
    assert!(reserved.leases.is_empty() && reserved.more, "{reserved:?}");
    let dead = count_of(&scale, Status::Dead).await;
    assert!((1..JOBS).contains(&dead), "{dead} at once");
    while count_of(&scale, Status::Dead).await < JOBS {
        scale.reserve(1000).await;
    }
}

/// Guard: after each job that was taken out, a fair reserve read the next jobs of all keys again:
/// 100 jobs of 1 MiB took 26 s, in which the server answered nobody.
#[tokio::test]
async fn s6_jobs_that_come_too_late_in_a_fair_queue_are_read_once() {
    const LATE: usize = 96;
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let fair = QueuePatch::default().order(Order::Fair);
    scale.store().configure(&QueueName::default(), &fair).await.unwrap();
    let key = |n: usize| format!("k{}", n % 32);
    let late = |n| build(draft().partition_key(key(n)).deadline(Duration::from_secs(1)));
    let jobs: Vec<NewJob> = (0..LATE).map(late).collect();
    scale.store().enqueue(&jobs).await.unwrap();
    scale.clock.jump(HOUR.as_millis() as i64).await;
    let in_time: Vec<NewJob> = (0..4).map(|n| build(draft().partition_key(key(n)))).collect();
    scale.store().enqueue(&in_time).await.unwrap();
    let (_, leases) = scale.commands(scale.reserve(1000)).await;
    assert_eq!(leases.len(), in_time.len());
    let reads = scale.calls_of("hmget").await;
    assert!(reads <= 30, "{reads} reads of {LATE} jobs");
    assert_eq!(count_of(&scale, Status::Dead).await, LATE);
    scale.stage.assert_exact().await;
}

/// Guard: 1,000 nacks read the payload of each job, and the server answered nobody for 4 s.
#[tokio::test]
async fn s6_leases_of_large_jobs_are_nacked_in_parts() {
    let Some(scale) = Scale::open(this_test!()).await else { return };
    store_large(&scale, JOBS, |_| large()).await;
    let leases = leased(&scale, JOBS).await;
    let nack = |lease: Lease| Nack::new(lease.token, NackKind::Fatal, "no", Duration::ZERO);
    let nacks: Vec<Nack> = leases.into_iter().map(nack).collect();
    let (_, outcomes) = scale.commands(scale.store().nack(&nacks)).await;
    assert_eq!(outcomes.unwrap(), vec![NackOutcome::Dead; JOBS]);
    let scripts = scripts(&scale).await;
    assert!(scripts >= SCRIPTS, "{scripts} scripts");
    assert_eq!(count_of(&scale, Status::Dead).await, JOBS);
}

/// Guard: the payload of each job with an idempotency key was read, as by nacks.
#[tokio::test]
async fn s6_large_jobs_with_idempotency_keys_are_acked_in_parts() {
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let keyed = |n: usize| large().idempotency_key(format!("k{n}"));
    store_large(&scale, JOBS, keyed).await;
    let mut leases = leased(&scale, JOBS).await;
    let rest = leases.split_off(JOBS / 2);
    let (_, ()) = scale.commands(complete(scale.store(), rest)).await;
    let parts = scripts(&scale).await;
    assert!(parts >= 2, "{parts} scripts");
    scale.store().enqueue(&[build(draft())]).await.unwrap();
    // The script that also reserves leaves acks to the next one, and the lease to the next call.
    let acks = leases.into_iter().map(|lease| Ack::new(lease.token)).collect();
    let settlement = Settlement { acks, nacks: Vec::new() };
    let request = request(QueueName::default(), 1);
    let exchanged = scale.store().exchange(&settlement, &request).await.unwrap();
    assert_eq!(exchanged.acks, vec![AckOutcome::Acked; JOBS / 2]);
    assert!(exchanged.reserved.leases.is_empty() && exchanged.reserved.more);
    assert_eq!(count_of(&scale, Status::Completed).await, JOBS);
    assert_eq!(scale.reserve(1).await.len(), 1);
    let held: Vec<NewJob> = (0..JOBS).map(|n| build(unique(&format!("k{n}")))).collect();
    let outcomes = scale.store().enqueue(&held).await.unwrap();
    assert!(!outcomes.iter().any(|outcome| outcome.is_created()), "each key is held after the end");
}

/// Guard: a step of retention read 200 MiB at once, and an action of an operator 100 MiB.
#[tokio::test]
async fn s6_large_jobs_are_cancelled_and_removed_in_parts() {
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let ids = store_large(&scale, JOBS, |_| large()).await;
    let (_, outcomes) = scale.commands(scale.store().cancel(&ids)).await;
    assert_eq!(outcomes.unwrap(), vec![CancelOutcome::Cancelled; JOBS]);
    let parts = scripts(&scale).await;
    assert!(parts >= SCRIPTS, "{parts} scripts cancel");
    scale.clock.jump(2 * DAY.as_millis() as i64).await;
    let (_, report) = scale.commands(scale.store().prune()).await;
    assert_eq!(report.unwrap().changed, JOBS as u64);
    let parts = scripts(&scale).await;
    assert!(parts >= SCRIPTS, "{parts} scripts remove");
    assert_eq!(count_of(&scale, Status::Cancelled).await, 0);
}

/// Guard: 1,000 nacks of jobs that have failed 20 times read and wrote 160 MiB of their errors.
#[tokio::test]
async fn s6_leases_of_jobs_with_large_errors_are_nacked_in_parts() {
    const FAILING: usize = 120;
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let jobs: Vec<NewJob> = (0..FAILING).map(|_| build(draft().max_attempts(100))).collect();
    scale.store().enqueue(&jobs).await.unwrap();
    for round in 0..=20 {
        let leases = leased(&scale, FAILING).await;
        let error = "e".repeat(8000);
        let nack = |lease: Lease| Nack::new(lease.token, NackKind::Retry, &*error, Duration::ZERO);
        let nacks: Vec<Nack> = leases.into_iter().map(nack).collect();
        let (_, outcomes) = scale.commands(scale.store().nack(&nacks)).await;
        assert_eq!(
            outcomes.unwrap(),
            vec![NackOutcome::Retrying { after: Duration::ZERO }; FAILING]
        );
        let parts = scripts(&scale).await;
        assert!(round < 20 || parts >= 2, "{parts} scripts");
    }
}

/// Guard: 1,000 reports of one short line each read and wrote 100 MiB of logs in one script, and
/// the server answered nobody for 2.6 s.
#[tokio::test]
async fn s6_reports_of_many_jobs_are_stored_in_parts() {
    const RUNNING: usize = 120;
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let jobs: Vec<NewJob> = (0..RUNNING).map(|_| build(draft())).collect();
    scale.store().enqueue(&jobs).await.unwrap();
    let leases = leased(&scale, RUNNING).await;
    let report = |lease: &Lease| Report::new(lease.token.clone(), None, vec!["one".to_owned()]);
    let reports: Vec<Report> = leases.iter().map(report).collect();
    let (_, outcomes) = scale.commands(scale.store().report(&reports)).await;
    assert_eq!(outcomes.unwrap(), vec![ReportOutcome::Reported; RUNNING]);
    let parts = scripts(&scale).await;
    assert!(parts >= 3, "{parts} scripts");
}
