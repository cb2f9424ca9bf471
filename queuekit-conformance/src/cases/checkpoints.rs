//! R13.10: results of the steps of a job, for its later runs.

use std::sync::Arc;

use queuekit_core::capability::CheckpointOutcome;
use queuekit_core::limits::{CHECKPOINT_BYTES, CHECKPOINTS, CHECKPOINTS_BYTES};
use queuekit_core::queue::{Keep, Retention};
use queuekit_core::{
    BackendExt, Bytes, Checkpoint, CheckpointInfo, Client, Lease, LeaseToken, NewJob, Nonce,
    QueuePatch,
};

use crate::World;
use crate::kit::{DAY, HOUR, MINUTE, build, checkpoint_name, default_queue, draft, queue};

/// As `World::checkpoints` reads them.
fn read<const N: usize>(expected: [(&str, &str); N]) -> Vec<(String, Bytes)> {
    let owned = |(name, result): (&str, &str)| (name.to_owned(), Bytes::from(result.to_owned()));
    expected.map(owned).into()
}

/// R13.10: what a run stored is read by the runs after a failure, a release and an expiry, in the
/// order and at the times at which it was stored.
/// Guard: checkpoints belong to the job and not to the lease.
pub async fn r13_10_later_runs_read_what_earlier_ones_stored(world: &dyn World) {
    let mut lease = world.lease(draft().max_attempts(9)).await;
    assert_eq!(world.checkpoints(&lease).await, read([]));
    world.put(&lease, "second.of:two", "").await;
    world.advance(MINUTE / 6).await;
    world.put(&lease, "first-one", "1").await;
    let first = world.checkpoints_of(&lease.token).await.expect("it holds").stored;
    assert!(first[1].at.since(first[0].at) >= MINUTE / 6, "{first:?}");
    let both = read([("second.of:two", ""), ("first-one", "1")]);
    assert_eq!(world.checkpoints(&lease).await, both);

    world.fail(&lease, MINUTE).await;
    world.advance(MINUTE).await;
    lease = world.reserve_one().await;
    assert_eq!(world.checkpoints(&lease).await, both);
    world.release(&lease, MINUTE).await;
    world.advance(MINUTE).await;
    lease = world.reserve_one().await;
    assert_eq!(world.checkpoints(&lease).await, both);
    world.expire().await;
    lease = world.reserve_one().await;
    world.put(&lease, "third", "{}").await;
    let now = world.store_now().await;
    let all = world.checkpoints_of(&lease.token).await.expect("it holds");
    assert_eq!(&all.stored[..2], first, "times and results stay");
    assert!(all.now >= now && all.stored[2].at <= all.now, "{all:?}");
    assert_eq!(all.stored[2].name, checkpoint_name("third"));
}

/// R13.10: a job that died or was cancelled keeps its checkpoints for an operator's retry.
/// Guard: an end without success keeps checkpoints.
pub async fn r13_10_checkpoints_outlast_the_end_and_a_retry(world: &dyn World) {
    let mut lease = world.lease(draft()).await;
    world.put(&lease, "paid", "7").await;
    world.kill(&lease).await;
    world.bring_back(lease.id()).await;
    lease = world.reserve_one().await;
    assert_eq!(world.checkpoints(&lease).await, read([("paid", "7")]));
    world.request_cancel(lease.id()).await;
    world.call_off(&lease).await;
    world.bring_back(lease.id()).await;
    lease = world.reserve_one().await;
    assert_eq!(world.checkpoints(&lease).await, read([("paid", "7")]));
}

/// R13.10: a repeated call is answered as the first was, and stores nothing more; another result
/// under the name is a Conflict, in this run and in later ones.
/// Guard: a stored name is not written again.
pub async fn r13_10_a_name_keeps_its_first_result(world: &dyn World) {
    let mut lease = world.lease(draft()).await;
    world.put(&lease, "s", "one").await;
    let before = world.dump().await;
    for _ in 0..2 {
        assert_eq!(world.put_as(&lease.token, "s", "one").await, CheckpointOutcome::Stored);
        let other = world.put_as(&lease.token, "s", "two").await;
        assert_eq!(other, CheckpointOutcome::Conflict);
        assert_eq!(world.put_as(&lease.token, "s", "").await, CheckpointOutcome::Conflict);
    }
    world.assert_unchanged(&before).await;
    world.put(&lease, "S", "two").await;
    world.expire().await;
    lease = world.reserve_one().await;
    assert_eq!(world.put_as(&lease.token, "s", "two").await, CheckpointOutcome::Conflict);
    assert_eq!(world.checkpoints(&lease).await, read([("s", "one"), ("S", "two")]));
}

/// R13.10: a job has at most 64 checkpoints; those it has still answer.
/// Guard: the number of checkpoints in the condition.
pub async fn r13_10_a_job_has_64_checkpoints(world: &dyn World) {
    let lease = world.lease(draft()).await;
    for n in 0..CHECKPOINTS {
        world.put(&lease, &format!("s{n}"), "x").await;
    }
    let before = world.dump().await;
    assert_eq!(world.put_as(&lease.token, "more", "").await, CheckpointOutcome::Full);
    assert_eq!(world.put_as(&lease.token, "s7", "x").await, CheckpointOutcome::Stored);
    assert_eq!(world.put_as(&lease.token, "s7", "y").await, CheckpointOutcome::Conflict);
    world.assert_unchanged(&before).await;
    assert_eq!(world.checkpoints(&lease).await.len(), CHECKPOINTS);
    world.put(&world.lease(draft()).await, "s0", "of another job").await;
}

/// R13.10: the results of a job have at most 1 MiB together, and each at most 64 KiB; bytes that
/// are no text are kept.
/// Guard: the bytes of checkpoints in the condition.
pub async fn r13_10_the_results_of_a_job_have_1_mib(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let largest = Bytes::from(vec![0xff; CHECKPOINT_BYTES]);
    let whole = CHECKPOINTS_BYTES / CHECKPOINT_BYTES;
    for n in 1..whole {
        world.put(&lease, &format!("s{n}"), largest.clone()).await;
    }
    world.put(&lease, "last", largest.slice(1..)).await;
    assert_eq!(world.put_as(&lease.token, "two", "ab").await, CheckpointOutcome::Full);
    world.put(&lease, "one", "a").await;
    assert_eq!(world.put_as(&lease.token, "more", "a").await, CheckpointOutcome::Full);
    world.put(&lease, "none", "").await;
    let stored = world.checkpoints(&lease).await;
    assert_eq!(stored.iter().map(|(_, result)| result.len()).sum::<usize>(), CHECKPOINTS_BYTES);
    assert_eq!(stored[0].1, largest);
}

/// R13.10: nobody reads checkpoints but the holder of the lease, and nobody once the job has
/// completed or is gone.
/// Guard: the lease's number, nonce and queue in the condition of the read.
pub async fn r13_10_only_the_holder_of_the_lease_reads(world: &dyn World) {
    let stale = world.lease(draft()).await;
    world.put(&stale, "s", "secret").await;
    let mut guess = stale.token.clone();
    guess.nonce = Nonce::from_bytes([3; 16]);
    assert_eq!(world.checkpoints_of(&guess).await, None);
    world.expire().await;
    let live = world.reserve_one().await;
    assert_eq!(world.checkpoints_of(&stale.token).await, None);
    assert_eq!(world.checkpoints(&live).await, read([("s", "secret")]));
    let number = LeaseToken { lease_seq: stale.token.lease_seq, ..live.token.clone() };
    assert_eq!(world.checkpoints_of(&number).await, None);
    let mut elsewhere = live.token.clone();
    elsewhere.queue = queue("another");
    assert_eq!(world.checkpoints_of(&elsewhere).await, None);
    world.complete(&live).await;
    assert_eq!(world.checkpoints_of(&live.token).await, None);
    world.delete(live.id(), false).await.expect("delete");
    assert_eq!(world.checkpoints_of(&live.token).await, None);
}

/// R13.10: a job that is enqueued anew under an id that was deleted has no checkpoints, though it
/// was deleted while it ran.
/// Guard: a delete removes the checkpoints.
pub async fn r13_10_no_job_inherits_checkpoints(world: &dyn World) {
    let job = build(draft());
    world.backend().enqueue_one(job.clone()).await.expect("enqueue");
    let lease = world.reserve_one().await;
    world.put(&lease, "s", "old").await;
    world.delete(lease.id(), true).await.expect("delete");
    assert_eq!(world.put_as(&lease.token, "t", "").await, CheckpointOutcome::NotFound);
    assert_begins_anew(world, job).await;
}

/// R13.10: retention, a delete and the removal of a queue remove the checkpoints of its jobs.
/// Guard: what removes a job removes its checkpoints.
pub async fn r13_10_what_removes_a_job_removes_its_checkpoints(world: &dyn World) {
    let job = build(draft());
    let ended = |completes: bool| {
        let job = job.clone();
        async move {
            world.backend().enqueue_one(job).await.expect("enqueue");
            let lease = world.reserve_one().await;
            world.put(&lease, "s", "old").await;
            match completes {
                true => world.complete(&lease).await,
                false => world.kill(&lease).await,
            }
        }
    };
    let week = Keep::ALL.max_age(7 * DAY);
    let retention = QueuePatch::default().retention(Retention::ALL.done(week).dead(week));
    world.configure(&default_queue(), retention).await;
    for completes in [true, false] {
        ended(completes).await;
        // Longer than by retention alone: some stores drop whole days.
        world.advance(9 * DAY).await;
        world.prune().await;
        assert_eq!(world.find(job.id()).await, None, "retention removed it");
        assert_begins_anew(world, job.clone()).await;
    }

    ended(false).await;
    world.delete(job.id(), false).await.expect("delete");
    assert_begins_anew(world, job.clone()).await;

    ended(false).await;
    assert!(world.admin().remove_queue(&default_queue(), true).await.expect("remove_queue"));
    assert_begins_anew(world, job.clone()).await;
}

/// The job is stored again, under the same id, has no checkpoints, and is deleted.
async fn assert_begins_anew(world: &dyn World, job: NewJob) {
    world.backend().enqueue_one(job).await.expect("enqueue");
    let lease: Lease = world.reserve_one().await;
    assert_eq!(world.checkpoints(&lease).await, read([]));
    world.delete(lease.id(), true).await.expect("delete");
}

/// R13.10: an operator sees the name, the time and the size of each checkpoint, whether the job
/// runs, waits or has ended.
/// Guard: those of this job, in their order.
pub async fn r13_10_an_operator_lists_them_in_every_state(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let other = world.lease(draft()).await;
    assert_eq!(world.list_checkpoints(lease.id()).await, []);
    world.put(&lease, "second.of:two", "1234567").await;
    world.advance(MINUTE / 6).await;
    world.put(&other, "other", "12").await;
    world.put(&lease, "first-one", "").await;
    let stored = world.checkpoints_of(&lease.token).await.expect("it holds").stored;
    let info = |Checkpoint { name, at, result }: &Checkpoint| CheckpointInfo {
        name: name.clone(),
        at: *at,
        bytes: result.len(),
    };
    let expected: Vec<CheckpointInfo> = stored.iter().map(info).collect();
    assert_eq!(expected.len(), 2);
    assert_eq!(world.list_checkpoints(lease.id()).await, expected);
    world.fail(&lease, HOUR).await;
    assert_eq!(world.list_checkpoints(lease.id()).await, expected);
    world.kill(&other).await;
    assert_eq!(world.list_checkpoints(other.id()).await.len(), 1);
    assert_eq!(world.list_checkpoints(build(draft()).id()).await, [], "it is not stored");
}

/// R13.10: an operator lets a job that does not run begin anew.
/// Guard: the state in the condition of forgetting.
pub async fn r13_10_an_operator_forgets_them_unless_the_job_runs(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let kept = world.lease(draft()).await;
    world.put(&lease, "s", "1").await;
    world.put(&kept, "s", "2").await;
    assert!(!world.forget_checkpoints(lease.id()).await, "it runs");
    assert_eq!(world.checkpoints(&lease).await, read([("s", "1")]));
    world.fail(&lease, HOUR).await;
    assert!(world.forget_checkpoints(lease.id()).await);
    assert!(!world.forget_checkpoints(lease.id()).await, "it has none left");
    world.advance(HOUR / 2).await;
    let none = build(draft());
    let ids = [none.id(), lease.id()];
    let answers = world.keeps_checkpoints().forget_checkpoints(&ids).await;
    assert_eq!(answers.expect("forget_checkpoints"), [false, false]);
    let none = world.keeps_checkpoints().forget_checkpoints(&[]).await.expect("none");
    assert!(none.is_empty(), "{none:?}");
    world.advance(HOUR / 2).await;
    let leases = world.reserve(2).await;
    assert_eq!(leases.len(), 2, "{leases:?}");
    for again in &leases {
        let expected = if again.id() == kept.id() { read([("s", "2")]) } else { read([]) };
        assert_eq!(world.checkpoints(again).await, expected);
    }
}

/// R13.10: a retry of a dead job may begin anew; of a job that has not ended it changes nothing.
/// Guard: only the checkpoints of a job that has died or was cancelled are forgotten.
pub async fn r13_10_a_fresh_retry_runs_all_steps_again(world: &dyn World) {
    let client = Client::shared(Arc::clone(world.backend()));
    let mut lease = world.lease(draft()).await;
    world.put(&lease, "s", "1").await;
    world.release(&lease, MINUTE).await;
    assert!(!client.jobs().retry_fresh(lease.id()).await.expect("retry"), "it waits");
    world.advance(MINUTE).await;
    lease = world.reserve_one().await;
    assert_eq!(world.checkpoints(&lease).await, read([("s", "1")]));
    world.kill(&lease).await;
    assert!(client.jobs().retry_fresh(lease.id()).await.expect("retry"));
    lease = world.reserve_one().await;
    assert_eq!(world.checkpoints(&lease).await, read([]));
}

/// R13.10: a run on another process reads them.
/// Guard: checkpoints are in the store.
pub async fn r13_10_another_handle_reads_them(world: &dyn World) {
    let lease = world.lease(draft()).await;
    world.put(&lease, "s", "1").await;
    let other = world.second_handle().await.expect("a second handle");
    let keeps = other.capabilities().checkpoints.expect("checkpoints of jobs");
    let read = keeps.checkpoints(&lease.token).await.expect("checkpoints").expect("it holds");
    assert_eq!(read.stored.len(), 1, "{read:?}");
    other.close().await.expect("close");
}
