//! A Redis store whose server has lost the last things that it answered (contract R11.3): an
//! append-only file that ends early, as after a loss of power between two syncs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::redis_store_fixture::RedisStage;
use crate::common::store_fixture::{all_jobs, complete, create, until};
use queuekit_conformance::kit::{build, draft, request, unique};
use queuekit_conformance::{skip, this_test};
use queuekit_core::capability::{ExtendOutcome, Leases, Report, ReportOutcome};
use queuekit_core::{
    Ack, AckOutcome, Backend, Client, DeadLetter, DeadLetterOutcome, Job, JobId, Lease, LeaseToken,
    LeaseTtl, Nack, NackKind, NackOutcome, Payload, Progress, QueueName, State,
};
use queuekit_integration_tests::servers::OwnRedis;
use queuekit_redis::RedisStore;
use queuekit_worker::{Ctx, JobResult, Worker};
use serde::{Deserialize, Serialize};

/// Enough to be still at work when half of them have run.
const JOBS: usize = 80;
/// What stale extends ask for, much less than the leases of these tests last.
const EXTENDED: Duration = Duration::from_secs(9);

async fn server(test: &str) -> Option<OwnRedis> {
    // What is written goes to the file at once, so that a copy of it has all that was answered.
    let server = OwnRedis::settings().set("appendfsync", "no").start().await;
    if server.is_none() {
        skip(test, "there is no program of Redis");
    }
    server
}

#[tokio::test]
async fn r11_3_a_completed_job_comes_back_when_the_tail_is_lost_and_the_fence_holds() {
    let test = this_test!();
    let Some(mut server) = server(test).await else { return };
    let stage = RedisStage::own(&server, "").await;
    let queue = QueueName::default();
    let stored = store_two(&stage.store, &queue).await;
    let kept = server.stored();
    let lost = lose(&stage.store, &queue, stored).await;
    server.fall_back(&kept).await;
    assert_lost(&stage.store, &queue, &lost, async || stage.assert_exact().await).await;
    assert_eq!(all_jobs(&stage.store).await.len(), 3);
    stage.end().await;
}

/// What a store has answered and then lost.
pub(super) struct Lost {
    /// The leases of two jobs that are still stored. The first of them was completed.
    leases: Vec<Lease>,
    job: JobId,
}

/// The two jobs that are not lost.
pub(super) async fn store_two(store: &RedisStore, queue: &QueueName) -> [JobId; 2] {
    let job = || build(draft().queue(queue.as_str()));
    [create(store, &job()).await, create(store, &job()).await]
}

/// Leases both jobs, completes the first and stores a third.
pub(super) async fn lose(store: &RedisStore, queue: &QueueName, stored: [JobId; 2]) -> Lost {
    let leases = leased(store, queue, 2).await;
    assert_eq!(leases.iter().map(Lease::id).collect::<Vec<_>>(), stored);
    complete(store, vec![leases[0].clone()]).await;
    let job = create(store, &build(unique("lost").queue(queue.as_str()))).await;
    Lost { leases, job }
}

/// The two jobs run again, and old leases change nothing. `assert_exact` compares derived data
/// with the jobs.
pub(super) async fn assert_lost(
    store: &RedisStore,
    queue: &QueueName,
    lost: &Lost,
    assert_exact: impl AsyncFn(),
) {
    let old = &lost.leases;
    let (done, held) = (old[0].id(), old[1].id());
    let job = store.get_job(done).await.unwrap().expect("the job should be stored");
    assert_eq!((job.state, job.lease_seq), (State::Pending, 0), "its ack is lost");
    assert_eq!(store.get_job(lost.job).await.unwrap(), None, "its enqueue is lost");
    assert_exact().await;
    let again = create(store, &build(unique("lost").queue(queue.as_str()))).await;
    assert_ne!(again, lost.job, "its key is free");
    for lease in old {
        assert_fenced(store, &lease.token).await;
    }

    let new = leased(store, queue, 3).await;
    assert_eq!(new.iter().map(Lease::id).collect::<Vec<_>>(), [done, held, again]);
    for (old, new) in old.iter().zip(&new) {
        assert_eq!(old.token.lease_seq, new.token.lease_seq, "it is given a second time");
        assert_fenced(store, &old.token).await;
    }
    assert_exact().await;
    complete(store, new).await;
    for lease in old {
        assert_fenced(store, &lease.token).await;
    }
    assert_exact().await;
}

async fn leased(store: &RedisStore, queue: &QueueName, limit: usize) -> Vec<Lease> {
    store.reserve(&request(queue.clone(), limit)).await.unwrap().leases
}

#[derive(Debug, Serialize, Deserialize)]
struct Task;

impl Payload for Task {
    const KIND: &'static str = "task";
}

/// Workers run what is stored once more, and nothing that is derived of jobs is wrong.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r11_3_workers_go_on_when_the_tail_is_lost() {
    let test = this_test!();
    let Some(mut server) = server(test).await else { return };
    let stage = RedisStage::own(&server, "").await;
    let client = Client::shared(Arc::new(stage.store.clone()) as Arc<dyn Backend>);
    let outcomes = client.enqueue_all((0..JOBS).map(|_| Task)).await.unwrap();
    let ids: BTreeSet<JobId> = outcomes.into_iter().map(|made| made.job_id().unwrap()).collect();
    let runs = Arc::new(Mutex::new(BTreeMap::<(JobId, u64), u32>::new()));
    let counted = Arc::clone(&runs);
    let handler = move |_: Task, ctx: Ctx| {
        *counted.lock().unwrap().entry((ctx.id(), ctx.lease_seq())).or_default() += 1;
        async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            JobResult::Ok(())
        }
    };
    let worker = Worker::new(client.clone()).concurrency(4).handle(handler);
    let worker = worker.lease_ttl(Duration::from_secs(1));
    let worker = worker.poll_interval(Duration::from_millis(100)).start().await.unwrap();
    let completed = async || {
        let jobs = all_jobs(&stage.store).await;
        jobs.iter().filter(|job| job.state == State::Completed).count()
    };
    until("some are completed", async || completed().await >= JOBS / 4).await;
    let kept = server.stored();
    let had = completed().await;
    until("more are completed", async || completed().await >= had + JOBS / 4).await;
    server.fall_back(&kept).await;
    until("all jobs are completed", async || completed().await == JOBS).await;
    let summary = worker.drain(Duration::from_secs(10)).await;
    let jobs = all_jobs(&stage.store).await;
    let stored: BTreeSet<JobId> = jobs.iter().map(|job| job.id).collect();
    assert_eq!(stored, ids, "each, and no other");
    let runs = runs.lock().unwrap().clone();
    let again: Vec<_> = runs.iter().filter(|(_, count)| **count > 1).collect();
    assert!(again.len() >= JOBS / 8, "a lease_seq is given a second time: {runs:?}, {summary:?}");
    assert!(jobs.iter().all(|job| runs.contains_key(&(job.id, job.lease_seq))), "{runs:?}");
    stage.assert_exact().await;
    stage.end().await;
}

/// No operation takes this token, and the job stays as it is.
async fn assert_fenced(store: &RedisStore, token: &LeaseToken) {
    let before = stored(store, token.id).await;
    let acked = store.ack(&[Ack::new(token.clone())]).await.unwrap();
    assert_eq!(acked, [AckOutcome::LeaseLost]);
    for kind in [NackKind::Retry, NackKind::Release, NackKind::Fatal, NackKind::Cancelled] {
        let nack = Nack::new(token.clone(), kind, "stale", Duration::ZERO);
        assert_eq!(store.nack(&[nack]).await.unwrap(), [NackOutcome::LeaseLost], "{kind:?}");
    }
    let dead_letter = DeadLetter::of_lease(token.clone(), "stale");
    let dead = store.dead_letter(&[dead_letter]).await.unwrap();
    assert_eq!(dead, [DeadLetterOutcome::LeaseLost]);
    let ttl = LeaseTtl::new(EXTENDED).unwrap();
    let extended = store.extend(std::slice::from_ref(token), ttl).await.unwrap();
    assert_eq!(extended, [ExtendOutcome::LeaseLost]);
    let progress = Some(Progress::new(1.0, "stale"));
    let report = Report::new(token.clone(), progress, vec!["stale".to_owned()]);
    assert_eq!(store.report(&[report]).await.unwrap(), [ReportOutcome::LeaseLost]);
    assert_eq!(stored(store, token.id).await, before, "a stale token changed it");
}

/// The job without the time that its lease still has, which is more than a stale extend would give.
async fn stored(store: &RedisStore, id: JobId) -> Job {
    let mut job = store.get_job(id).await.unwrap().expect("the job should be stored");
    let left = job.lease_expires_in.take();
    assert!(left.is_none_or(|left| left > EXTENDED), "{left:?}");
    job
}
