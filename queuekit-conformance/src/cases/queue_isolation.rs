//! Operations leave alone the leases of other queues and the keys of other jobs.

use queuekit_core::limits::reclaims_per_reserve;
use queuekit_core::{EnqueueOutcome, Reserve, Status};

use crate::World;
use crate::kit::{HOUR, TTL, draft, queue, ttl, unique, worker};

/// R2.5: deleting a job does not free its idempotency key if another job has taken it since.
/// Guard: the job in the condition that frees a key.
pub async fn r2_5_deleting_an_old_job_frees_no_key_of_another(world: &dyn World) {
    let old = world.enqueue(unique("k").unique_until_done()).await;
    let lease = world.reserve_one().await;
    world.complete(&lease).await;
    let new = world.enqueue(unique("k").unique_until_done()).await;
    assert!(world.delete(old, false).await.expect("delete_job"));
    let outcome = world.try_enqueue(unique("k").unique_until_done()).await;
    assert_eq!(outcome, EnqueueOutcome::Duplicate { existing: new });
}

/// R5.6: a reserve reclaims leases of the queues that it names, and of no others.
/// Guard: the queue in the condition of the reclaim.
pub async fn r5_6_leases_of_other_queues_are_left_alone(world: &dyn World) {
    let other = queue("other");
    world.enqueue(draft().queue(other.clone())).await;
    let lost = world.reserve_one_from(&other).await;
    world.enqueue(draft()).await;
    world.expire().await;
    assert_eq!(world.reserve(1).await.len(), 1);
    assert_eq!(
        world.status(lost.id()).await,
        Status::Expired,
        "no reserve named its queue, so its lease should not be reclaimed"
    );
    assert_eq!(world.reserve_one_from(&other).await.id(), lost.id());
}

/// R5.6: a reserve reclaims leases of all queues that it names, even if its batch is full before it
/// reaches them.
/// Guard: the reclaim also covers queues from which nothing is leased.
pub async fn r5_6_a_full_batch_reclaims_in_the_other_queues_too(world: &dyn World) {
    let (first, later) = (queue("first"), queue("later"));
    world.enqueue(draft().queue(later.clone())).await;
    let lost = world.reserve_one_from(&later).await;
    world.expire().await;
    world.enqueue(draft().queue(first.clone())).await;
    let queues = vec![first.clone(), later];
    let reserve = Reserve::new(queues, 1, ttl(TTL), worker("w")).expect("a nonce");
    let leases = world.reserve_with(&reserve).await.leases;
    assert_eq!(leases.iter().map(|lease| &lease.token.queue).collect::<Vec<_>>(), [&first]);
    assert_eq!(
        world.status(lost.id()).await,
        Status::Ready,
        "its lease should have been reclaimed"
    );
}

/// R5.6: a call over several queues reclaims no more leases than a call over a single queue.
/// Guard: one budget of reclaims for all queues of a call.
pub async fn r5_6_the_bound_of_reclaims_is_of_the_whole_call(world: &dyn World) {
    let names = ["first", "second"].map(queue);
    let most = reclaims_per_reserve(1);
    for name in &names {
        world.enqueue_all((0..most - 20).map(|_| draft().queue(name.clone()))).await;
        assert_eq!(world.reserve_from(name, most).await.len(), most - 20);
    }
    world.advance(HOUR).await;
    let before = world.count_everywhere(Status::Expired).await;
    let reserve = Reserve::new(names.to_vec(), 1, ttl(TTL), worker("w")).expect("a nonce");
    assert_eq!(world.reserve_with(&reserve).await.leases.len(), 1);
    let reclaimed = before - world.count_everywhere(Status::Expired).await;
    assert!(reclaimed <= most, "one call reclaimed {reclaimed} leases, more than {most}");
}
