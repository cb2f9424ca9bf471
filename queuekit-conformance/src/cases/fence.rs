//! R3.1 to R3.6: the token of a lease; an ack without it has no effect.

use std::time::Duration;

use queuekit_core::capability::{ExtendOutcome, Report, ReportOutcome};
use queuekit_core::{
    Ack, AckOutcome, DeadLetter, DeadLetterOutcome, JobId, Lease, LeaseToken, NackKind,
    NackOutcome, Nonce, Priority, Progress, State, Timestamp,
};

use crate::World;
use crate::kit::{HOUR, default_queue, draft, queue, request, ttl};

/// R3.1: each reserve has a new nonce, and a token can be written as text and read again.
/// Guard: the leases have the nonce of their request.
pub async fn r3_1_every_reserve_has_a_nonce_of_its_own(world: &dyn World) {
    world.enqueue_n(2).await;
    let (one, two) = (request(default_queue(), 1), request(default_queue(), 1));
    assert_ne!(one.nonce, two.nonce);
    for request in [one, two] {
        let lease = world.reserve_with(&request).await.leases.remove(0);
        assert_eq!(lease.token.nonce, request.nonce);
        let text = lease.token.to_secret_string();
        assert_eq!(text.parse::<LeaseToken>().expect("a token"), lease.token);
        let read = text.parse::<LeaseToken>().expect("a token");
        assert_eq!(world.ack(&read).await, AckOutcome::Acked);
    }
}

/// R3.1: the nonce is compared, not only the number of the lease.
/// Guard: the nonce in the condition of ack, nack, dead-lettering, extend and report.
pub async fn r3_1_a_guessed_nonce_settles_nothing(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let mut guess = lease.token.clone();
    guess.nonce = Nonce::from_bytes([7; 16]);
    assert_settles_nothing(world, &guess).await;
    world.complete(&lease).await;
}

/// R3.1: the number of the lease is compared, not only the nonce.
/// Guard: `lease_seq` in the condition of ack, nack, dead-lettering, extend and report.
pub async fn r3_1_another_lease_seq_settles_nothing(world: &dyn World) {
    let lease = world.lease(draft()).await;
    for seq in [0, lease.token.lease_seq + 1, u64::from(u32::MAX), i64::MAX as u64, u64::MAX] {
        let mut guess = lease.token.clone();
        guess.lease_seq = seq;
        assert_settles_nothing(world, &guess).await;
    }
    world.complete(&lease).await;
}

/// R3.1: the queue of the token is compared too.
/// Guard: the queue in the condition of each operation.
pub async fn r3_1_another_queue_settles_nothing(world: &dyn World) {
    world.enqueue(draft().queue("other").delay(HOUR)).await;
    let lease = world.lease(draft()).await;
    let mut moved = lease.token.clone();
    moved.queue = queue("other");
    let before = world.dump().await;
    let outcome = world.ack(&moved).await;
    assert!(matches!(outcome, AckOutcome::LeaseLost | AckOutcome::NotFound), "{outcome:?}");
    let outcome = world.nack(&moved, NackKind::Fatal, Duration::ZERO).await;
    assert!(matches!(outcome, NackOutcome::LeaseLost | NackOutcome::NotFound), "{outcome:?}");
    let outcome = world.dead_letter(DeadLetter::of_lease(moved.clone(), "moved")).await;
    assert!(
        matches!(outcome, DeadLetterOutcome::LeaseLost | DeadLetterOutcome::NotFound),
        "{outcome:?}"
    );
    if let Some(leases) = world.capabilities().leases {
        let outcomes = leases.extend(std::slice::from_ref(&moved), ttl(HOUR)).await;
        let lost = [ExtendOutcome::LeaseLost, ExtendOutcome::NotFound];
        assert!(lost.contains(&outcomes.expect("extend")[0]));
        let report = Report::new(moved, None, vec!["line".to_owned()]);
        let lost = [ReportOutcome::LeaseLost, ReportOutcome::NotFound];
        assert!(lost.contains(&world.report(report).await));
    }
    world.assert_unchanged(&before).await;
}

/// R3.1: an old lease does not match a job that was deleted and created again under its id.
/// Guard: the nonce, because the number of the lease may be the same.
pub async fn r3_1_a_lease_dies_with_its_job(world: &dyn World) {
    let old = world.lease(draft()).await;
    world.delete(old.id(), true).await.expect("delete_job");
    let new = world.lease(draft().id(old.id())).await;
    assert_settles_nothing(world, &old.token).await;
    world.complete(&new).await;
}

/// R3.1: no read and no log shows a nonce.
/// Guard: the Debug output of tokens, and the columns that reads select.
pub async fn r3_1_a_nonce_is_shown_by_nothing(world: &dyn World) {
    world.enqueue(draft()).await;
    let mut request = request(default_queue(), 1);
    request.nonce = Nonce::from_bytes([0xab; 16]);
    let reserved = world.reserve_with(&request).await;
    let job = world.job(reserved.leases[0].id()).await;
    let shown = format!("{job:?} {reserved:?} {request:?} {:?}", world.backend());
    for secret in ["abab", "ABAB", "171, 171"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

/// R3.2: an ack by the live lease completes the job, with its result.
/// Guard: ack is one conditional write.
pub async fn r3_2_an_ack_completes_the_job(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let ack = Ack::new(lease.token.clone()).with_result(&b"\0\xffdone"[..]);
    assert_eq!(world.backend().ack(&[ack]).await.expect("ack"), [AckOutcome::Acked]);
    let job = world.job(lease.id()).await;
    assert_eq!(job.state, State::Completed);
    assert_eq!(job.result.as_deref(), Some(&b"\0\xffdone"[..]));
    assert!(job.finished_at.is_some() && job.lease_expires_in.is_none());
}

/// R3.2: an expired lease still settles, until a reserve has reclaimed the job.
/// Guard: ack compares the token, not the time.
pub async fn r3_2_an_expired_lease_settles_until_it_is_reclaimed(world: &dyn World) {
    let lease = world.lease(draft()).await;
    world.advance(HOUR).await;
    world.complete(&lease).await;

    let lease = world.lease(draft()).await;
    world.advance(HOUR).await;
    world.fail(&lease, HOUR).await;

    let lease = world.lease(draft()).await;
    world.advance(HOUR).await;
    let outcome = world.dead_letter(DeadLetter::of_lease(lease.token, "poison")).await;
    assert_eq!(outcome, DeadLetterOutcome::DeadLettered);
}

/// R3.3: a reclaimed lease changes nothing in the store.
/// Guard: the fence: ack compares lease number and nonce.
pub async fn r3_3_stale_ack_changes_nothing(world: &dyn World) {
    let stale = world.lease(draft()).await;
    world.expire().await;
    let live = world.reserve_one().await;
    assert_eq!(live.id(), stale.id());
    assert_settles_nothing(world, &stale.token).await;
    world.complete(&live).await;
    assert_settles_nothing(world, &stale.token).await;
}

/// R3.3: a lease whose job was reclaimed and waits for its next run changes nothing either.
/// Guard: reclaim clears the lease.
pub async fn r3_3_a_reclaimed_lease_is_lost_though_nobody_holds_the_job(world: &dyn World) {
    let stale = world.lease(draft()).await;
    world.expire().await;
    let urgent = draft().priority(Priority::CRITICAL);
    let urgent = world.enqueue(urgent).await;
    // This call reclaims the job, and grants the urgent one.
    assert_eq!(world.reserve_ids(1).await, [urgent]);
    assert_eq!(world.state(stale.id()).await, State::Pending, "reclaim comes before leasing");
    assert_settles_nothing(world, &stale.token).await;
    assert_eq!(world.reserve_ids(1).await, [stale.id()]);
}

/// R3.3: a repeated ack is AlreadyDone, and its result does not replace the first.
/// Guard: a completed job keeps the lease that completed it.
pub async fn r3_3_a_repeated_ack_is_already_done(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let ack = |result: &'static str| [Ack::new(lease.token.clone()).with_result(result)];
    assert_eq!(world.backend().ack(&ack("first")).await.expect("ack"), [AckOutcome::Acked]);
    let before = world.dump().await;
    for _ in 0..3 {
        let outcomes = world.backend().ack(&ack("second")).await.expect("ack");
        assert_eq!(outcomes, [AckOutcome::AlreadyDone]);
    }
    world.assert_unchanged(&before).await;
    assert_eq!(world.job(lease.id()).await.result.expect("a result"), "first");
}

/// R3.4: for one lease, only the first of ack, nack and dead-lettering takes effect.
/// Guard: each of them ends the lease in its own write.
pub async fn r3_4_only_the_first_settlement_takes_effect(world: &dyn World) {
    for first in 0..3 {
        let lease = world.lease(draft()).await;
        settle(world, &lease, first).await;
        let before = world.dump().await;
        for other in (0..3).filter(|other| *other != first) {
            settle(world, &lease, other).await;
        }
        world.assert_unchanged(&before).await;
    }
}

async fn settle(world: &dyn World, lease: &Lease, how: usize) {
    match how {
        0 => drop(world.ack(&lease.token).await),
        1 => drop(world.nack(&lease.token, NackKind::Retry, HOUR).await),
        _ => drop(
            world.dead_letter(DeadLetter::of_lease(lease.token.clone(), "dead_lettered")).await,
        ),
    }
}

/// R3.5: an unknown job is NotFound, and leaves no trace.
/// Guard: settling updates and never inserts.
pub async fn r3_5_an_unknown_job_leaves_no_trace(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let known = world.dump().await;
    for queue in [default_queue(), queue("unknown")] {
        let token = LeaseToken {
            id: JobId::generate(&queue, Timestamp::default()),
            queue,
            ..lease.token.clone()
        };
        assert_eq!(world.ack(&token).await, AckOutcome::NotFound);
        for kind in [NackKind::Retry, NackKind::Release, NackKind::Fatal, NackKind::Cancelled] {
            assert_eq!(world.nack(&token, kind, Duration::ZERO).await, NackOutcome::NotFound);
        }
        let id = token.id;
        let dead_letters = [
            DeadLetter::of_lease(token, "x"),
            DeadLetter::of_job(id, "x"),
            DeadLetter::forced(id, "x"),
        ];
        for dead_letter in dead_letters {
            assert_eq!(world.dead_letter(dead_letter).await, DeadLetterOutcome::NotFound);
        }
        assert!(!world.delete(id, false).await.expect("delete_job"));
        assert!(!world.delete(id, true).await.expect("delete_job"));
    }
    world.assert_unchanged(&known).await;
}

/// R3.5: calls of the capabilities leave no trace of an unknown job either.
/// Guard: extend, report, cancel, retry and reschedule update and never insert.
pub async fn r3_5_an_unknown_job_leaves_no_trace_in_capabilities(world: &dyn World) {
    use queuekit_core::capability::{CancelOutcome, RescheduleOutcome, RetryOutcome};
    let lease = world.lease(draft()).await;
    let known = world.dump().await;
    let id = JobId::generate(&default_queue(), Timestamp::default());
    let token = LeaseToken { id, ..lease.token.clone() };
    assert_eq!(world.extend(&token, HOUR).await, ExtendOutcome::NotFound);
    let report = Report::new(token, None, vec!["line".to_owned()]);
    assert_eq!(world.report(report).await, ReportOutcome::NotFound);
    assert_eq!(world.cancel(id).await, CancelOutcome::NotFound);
    assert_eq!(world.retry(id).await, RetryOutcome::NotFound);
    assert_eq!(world.reschedule(id, HOUR).await, RescheduleOutcome::NotFound);
    assert_eq!(world.admin().why(id).await.expect("why"), None);
    world.assert_unchanged(&known).await;
}

/// Asserts that each operation refuses this token and changes nothing.
async fn assert_settles_nothing(world: &dyn World, token: &LeaseToken) {
    let before = world.dump().await;
    assert_eq!(world.ack(token).await, AckOutcome::LeaseLost, "ack by {token:?}");
    for kind in [NackKind::Retry, NackKind::Release, NackKind::Fatal, NackKind::Cancelled] {
        let outcome = world.nack(token, kind, Duration::ZERO).await;
        assert_eq!(outcome, NackOutcome::LeaseLost, "nack {kind:?} by {token:?}");
    }
    let outcome = world.dead_letter(DeadLetter::of_lease(token.clone(), "stale")).await;
    assert_eq!(outcome, DeadLetterOutcome::LeaseLost, "dead-lettering by {token:?}");
    if world.capabilities().leases.is_some() {
        assert_eq!(
            world.extend(token, HOUR).await,
            ExtendOutcome::LeaseLost,
            "extending by {token:?}"
        );
        let progress = Some(Progress::new(1.0, "stale"));
        let report = Report::new(token.clone(), progress, vec!["stale".to_owned()]);
        assert_eq!(world.report(report).await, ReportOutcome::LeaseLost, "report by {token:?}");
    }
    world.assert_unchanged(&before).await;
}
