//! R3.6: batches answer per item, in input order.

use queuekit_core::capability::{CancelOutcome, RescheduleOutcome, RetryOutcome};
use queuekit_core::{
    Ack, AckOutcome, DeadLetter, DeadLetterOutcome, JobId, Lease, LeaseToken, Nack, NackKind,
    NackOutcome, QueueName, Reserve, Status, Timestamp,
};

use crate::World;
use crate::kit::{HOUR, draft, queue, ttl, worker};

/// R3.6: a batch returns an outcome per item, and a bad item does not affect the others.
/// Guard: items are independent; outcomes come in input order.
pub async fn r3_6_items_of_a_batch_are_independent(world: &dyn World) {
    let stale = world.lease(draft()).await;
    world.expire().await;
    let live = world.reserve_one().await;
    let more = world.lease(draft()).await;
    let unknown = LeaseToken {
        id: JobId::generate(&QueueName::default(), Timestamp::default()),
        ..live.token.clone()
    };
    let tokens = [&stale.token, &more.token, &unknown, &live.token];
    let acks = tokens.map(|token| Ack::new(token.clone()));
    let outcomes = world.backend().ack(&acks).await.expect("ack");
    let (acked, lost) = (AckOutcome::Acked, AckOutcome::LeaseLost);
    assert_eq!(outcomes, [lost, acked, AckOutcome::NotFound, acked]);
}

/// R3.6: the same for nacks and dead-letterings, over several queues.
/// Guard: grouping by queue keeps the order of the answers.
pub async fn r3_6_batches_over_several_queues_answer_in_order(world: &dyn World) {
    let mut leases = Vec::new();
    for name in ["b", "a", "b", "c", "a", "c"] {
        world.enqueue(draft().queue(name)).await;
        leases.push(world.reserve_one_from(&queue(name)).await);
    }
    let nack = |lease: &Lease, kind| Nack::new(lease.token.clone(), kind, "failed", HOUR);
    let nacks = [
        nack(&leases[0], NackKind::Fatal),
        nack(&leases[1], NackKind::Retry),
        nack(&leases[2], NackKind::Cancelled),
    ];
    let outcomes = world.backend().nack(&nacks).await.expect("nack");
    let retrying = NackOutcome::Retrying { after: HOUR };
    assert_eq!(outcomes, [NackOutcome::Dead, retrying, NackOutcome::Cancelled]);
    let dead_letters = [
        DeadLetter::of_job(leases[4].id(), "running"),
        DeadLetter::of_lease(leases[3].token.clone(), "held"),
        DeadLetter::of_job(leases[1].id(), "waiting"),
        DeadLetter::of_job(leases[0].id(), "dead"),
    ];
    let outcomes = world.backend().dead_letter(&dead_letters).await.expect("dead_letter");
    let dead_lettered = DeadLetterOutcome::DeadLettered;
    assert_eq!(
        outcomes,
        [DeadLetterOutcome::Conflict, dead_lettered, dead_lettered, DeadLetterOutcome::AlreadyDone]
    );
    world.complete(&leases[5]).await;
}

/// R3.6: jobs that one call has reserved are acked in parts, in any order. Each part completes its
/// own jobs, and a lease that it names twice is answered as already done.
/// Guard: an ack leaves the other leases of the same reserve as they are.
pub async fn r3_6_parts_of_a_reserve_are_acked_in_any_order(world: &dyn World) {
    for _ in 0..7 {
        world.enqueue(draft()).await;
    }
    let leases = world.reserve_many(&QueueName::default(), 7).await;
    let mut acked = Vec::new();
    for part in [&[5, 1][..], &[6], &[2, 0, 2], &[4, 3]] {
        let acks: Vec<_> = part.iter().map(|at| Ack::new(leases[*at].token.clone())).collect();
        let outcomes = world.backend().ack(&acks).await.expect("ack");
        for (at, outcome) in part.iter().zip(outcomes) {
            let is_first = !acked.contains(at);
            let expected = if is_first { AckOutcome::Acked } else { AckOutcome::AlreadyDone };
            assert_eq!(outcome, expected, "job {at} of {part:?}");
            acked.push(*at);
        }
        for (at, lease) in leases.iter().enumerate() {
            let is_acked = acked.contains(&at);
            let expected = if is_acked { Status::Completed } else { Status::Running };
            assert_eq!(world.status(lease.id()).await, expected, "job {at} after {part:?}");
        }
    }
}

/// R3.6: an empty batch is Ok and does nothing.
/// Guard: the early return for an empty batch.
pub async fn r3_6_empty_batches_do_nothing(world: &dyn World) {
    world.lease(draft()).await;
    let before = world.dump().await;
    assert_eq!(world.backend().ack(&[]).await.expect("ack"), []);
    assert_eq!(world.backend().nack(&[]).await.expect("nack"), []);
    assert_eq!(world.backend().dead_letter(&[]).await.expect("dead_letter"), []);
    let nothing = Reserve::new(Vec::new(), 5, ttl(HOUR), worker("w")).expect("a nonce");
    assert_eq!(world.reserve_with(&nothing).await.leases, []);
    world.assert_unchanged(&before).await;
}

/// R3.6: cancel, retry and reschedule return an outcome per item, in input order.
/// Guard: items are independent.
pub async fn r3_6_admin_batches_answer_per_item(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let pending = world.enqueue(draft()).await;
    let gone = world.enqueue(draft()).await;
    world.delete(gone, false).await.expect("delete_job");
    let ids = [lease.id(), gone, pending];
    let admin = world.admin();
    let rescheduled = admin.reschedule(&ids, HOUR).await.expect("reschedule");
    let (conflict, not_found) = (RescheduleOutcome::Conflict, RescheduleOutcome::NotFound);
    assert_eq!(rescheduled, [conflict, not_found, RescheduleOutcome::Rescheduled]);
    let cancelled = admin.cancel(&ids).await.expect("cancel");
    let (requested, not_found) = (CancelOutcome::Requested, CancelOutcome::NotFound);
    assert_eq!(cancelled, [requested, not_found, CancelOutcome::Cancelled]);
    let retried = admin.retry(&ids).await.expect("retry");
    let (conflict, not_found) = (RetryOutcome::Conflict, RetryOutcome::NotFound);
    assert_eq!(retried, [conflict, not_found, RetryOutcome::Retried]);
    assert_eq!(admin.cancel(&[]).await.expect("cancel"), []);
    assert_eq!(admin.retry(&[]).await.expect("retry"), []);
    assert_eq!(admin.reschedule(&[], HOUR).await.expect("reschedule"), []);
}
