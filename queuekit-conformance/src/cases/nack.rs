//! R4: runs that did not succeed.

use std::time::Duration;

use queuekit_core::limits::{ERROR_BYTES, FAILURES_KEPT, NACK_DELAY};
use queuekit_core::{
    Ack, AckOutcome, BackendExt, DeadLetter, ErrorKind, ErrorText, JobDraft, Lease, Nack, NackKind,
    NackOutcome, State, Status,
};

use crate::World;
use crate::kit::{HOUR, MINUTE, draft, kind_of, worker};

/// R4.1: a nack by a stale lease changes nothing.
/// Guard: the fence in nack.
pub async fn r4_1_a_stale_nack_changes_nothing(world: &dyn World) {
    let stale = world.lease(draft()).await;
    world.expire().await;
    let live = world.reserve_one().await;
    let before = world.dump().await;
    for kind in [NackKind::Retry, NackKind::Release, NackKind::Fatal, NackKind::Cancelled] {
        assert_eq!(world.nack(&stale.token, kind, HOUR).await, NackOutcome::LeaseLost);
    }
    world.assert_unchanged(&before).await;
    world.complete(&live).await;
}

/// R4.1: a repeated nack changes nothing, and returns its first outcome or LeaseLost.
/// Guard: a nack ends its lease.
pub async fn r4_1_a_repeated_nack_changes_nothing(world: &dyn World) {
    for kind in [NackKind::Retry, NackKind::Release, NackKind::Fatal, NackKind::Cancelled] {
        let lease = world.lease(draft()).await;
        let first = world.nack(&lease.token, kind, HOUR).await;
        let before = world.dump().await;
        for _ in 0..3 {
            let again = world.nack(&lease.token, kind, HOUR).await;
            assert!(again == first || again == NackOutcome::LeaseLost, "{kind:?}: {again:?}");
        }
        world.assert_unchanged(&before).await;
    }
}

/// R4.2: a failed run waits for its delay, then runs again.
/// Guard: `scheduled_at` = now + delay, in the store's time.
pub async fn r4_2_a_failed_run_waits_for_its_delay(world: &dyn World) {
    let lease = world.lease(draft()).await;
    world.advance(Duration::from_secs(10)).await;
    world.fail(&lease, HOUR).await;
    let job = world.job(lease.id()).await;
    assert_eq!((job.state, job.status, job.attempts), (State::Pending, Status::Failed, 1));
    assert!(job.scheduled_at >= job.created_at + HOUR + Duration::from_secs(10));
    assert_eq!(job.lease_expires_in, None);
    world.assert_nothing_to_lease().await;
    world.advance(59 * MINUTE).await;
    world.assert_nothing_to_lease().await;
    world.advance(MINUTE).await;
    let again = world.reserve_one().await;
    assert_eq!((again.id(), again.attempt), (lease.id(), 2));
}

/// R4.2: without a delay it runs again at once.
/// Guard: a delay of zero is due now.
pub async fn r4_2_without_a_delay_it_runs_at_once(world: &dyn World) {
    let lease = world.lease(draft()).await;
    world.fail(&lease, Duration::ZERO).await;
    assert_eq!(world.status(lease.id()).await, Status::Ready);
    assert_eq!(world.reserve_one().await.id(), lease.id());
}

/// R4.3: a failure on the final attempt dead-letters the job in the same step; no delay applies.
/// Guard: attempts are compared with `max_attempts` in nack.
pub async fn r4_3_the_final_attempt_dead_letters(world: &dyn World) {
    for max_attempts in [1, 2, 3] {
        let id = world.enqueue(draft().max_attempts(max_attempts)).await;
        for _ in 1..max_attempts {
            let lease = world.reserve_one().await;
            world.fail(&lease, Duration::ZERO).await;
        }
        let last = world.reserve_one().await;
        let outcome = world.nack(&last.token, NackKind::Retry, HOUR).await;
        assert_eq!(outcome, NackOutcome::Dead, "retry of attempt {max_attempts} of {max_attempts}");
        let job = world.job(id).await;
        assert_eq!((job.state, job.attempts), (State::Dead, max_attempts));
        assert_eq!(job.errors.len(), max_attempts as usize);
        assert!(job.reason.is_some() && job.finished_at.is_some());
    }
    world.advance(2 * HOUR).await;
    world.assert_nothing_to_lease().await;
}

/// R4.4: a release spends no attempt and records no error, and the job waits for its delay.
/// Guard: attempts - 1 in the same step.
pub async fn r4_4_a_release_spends_nothing(world: &dyn World) {
    let lease = world.lease(draft().max_attempts(1)).await;
    world.release(&lease, HOUR).await;
    let job = world.job(lease.id()).await;
    assert_eq!((job.state, job.attempts, job.releases), (State::Pending, 0, 1));
    assert!(job.errors.is_empty(), "{:?}", job.errors);
    assert_eq!(job.status, Status::Scheduled);
    world.assert_nothing_to_lease().await;
    world.advance(HOUR).await;
    let again = world.reserve_one().await;
    assert_eq!((again.attempt, again.releases), (1, 1));
}

/// R4.4: a release after a failure keeps the failure.
/// Guard: a release undoes only its own attempt.
pub async fn r4_4_a_release_keeps_earlier_failures(world: &dyn World) {
    let lease = world.lease(draft()).await;
    world.fail(&lease, Duration::ZERO).await;
    let lease = world.reserve_one().await;
    world.release(&lease, Duration::ZERO).await;
    let job = world.job(lease.id()).await;
    assert_eq!((job.attempts, job.releases, job.errors.len()), (1, 1, 1));
    assert_eq!(world.reserve_one().await.attempt, 2);
}

/// R4.5: each failure is in the history: attempt, lease, worker, time and error.
/// Guard: nack appends an entry.
pub async fn r4_5_each_failure_is_remembered(world: &dyn World) {
    let id = world.enqueue(draft().max_attempts(3)).await;
    let mut expected = Vec::new();
    for attempt in 1..=3 {
        let name = worker(&format!("w{attempt}"));
        let lease = world.reserve_as(name.clone(), 1, HOUR).await.remove(0);
        let error = format!("failure {attempt}");
        let kind = if attempt == 3 { NackKind::Fatal } else { NackKind::Retry };
        let nack = Nack::new(lease.token.clone(), kind, &error, Duration::ZERO);
        let _ = world.backend().nack_one(nack).await.expect("nack");
        expected.push((attempt, lease.token.lease_seq, Some(name), ErrorText::from(error)));
        world.advance(MINUTE).await;
    }
    let job = world.job(id).await;
    assert_eq!(job.state, State::Dead);
    let times: Vec<_> = job.errors.iter().map(|failure| failure.at).collect();
    assert!(times.is_sorted() && times[2] >= times[0] + 2 * MINUTE, "{times:?}");
    let errors: Vec<_> = job
        .errors
        .into_iter()
        .map(|failure| (failure.attempt, failure.lease_seq, failure.worker, failure.error))
        .collect();
    assert_eq!(errors, expected, "they survive the dead-letter queue");
}

/// R4.5: the last 20 failures are kept.
/// Guard: the limit of a job's history.
pub async fn r4_5_the_last_failures_are_kept(world: &dyn World) {
    let id = world.enqueue(draft().max_attempts(100)).await;
    for _ in 0..25 {
        let lease: Lease = world.reserve_one().await;
        world.fail(&lease, Duration::ZERO).await;
    }
    let errors = world.job(id).await.errors;
    assert_eq!(errors.len(), FAILURES_KEPT);
    let attempts: Vec<_> = errors.iter().map(|failure| failure.attempt).collect();
    assert_eq!(attempts, (6..=25).collect::<Vec<_>>());
}

/// R4.6: a nack never fails because of its text.
/// Guard: the text is sanitized before it is stored.
pub async fn r4_6_any_text_is_accepted(world: &dyn World) {
    let texts = [
        ErrorText::from(""),
        ErrorText::from("a\0b"),
        ErrorText::from_bytes(b"a\xff\xc3(b"),
        ErrorText::from_bytes(&[0xed, 0xa0, 0x80]),
        ErrorText::from("\u{1f980}".repeat(1_000_000)),
        ErrorText::from("'; DROP TABLE jobs; --\\ {\"a\":1}\r\n\u{202e}"),
    ];
    let id = world.enqueue(draft().max_attempts(50)).await;
    for text in &texts {
        let lease = world.reserve_one().await;
        let mut nack = Nack::new(lease.token, NackKind::Retry, "", Duration::ZERO);
        nack.error = text.clone();
        let outcome = world.backend().nack_one(nack).await.expect("nack");
        assert!(matches!(outcome, NackOutcome::Retrying { .. }), "{outcome:?}");
    }
    let errors = world.job(id).await.errors;
    let stored: Vec<_> = errors.into_iter().map(|failure| failure.error).collect();
    assert_eq!(stored, texts);
    assert_eq!(stored[1].as_str(), "a\u{fffd}b");
    assert!(stored[4].as_str().len() <= ERROR_BYTES && stored[4].as_str().len() > ERROR_BYTES - 4);
}

/// R4.7: a delay is clamped to 30 days, and the outcome has the delay that was used.
/// Guard: the clamp in the constructor of nacks.
pub async fn r4_7_the_delay_is_clamped_and_answered(world: &dyn World) {
    for kind in [NackKind::Retry, NackKind::Release] {
        let lease = world.lease(draft()).await;
        let outcome = world.nack(&lease.token, kind, 2 * NACK_DELAY).await;
        match outcome {
            NackOutcome::Retrying { after } | NackOutcome::Released { after } => {
                assert_eq!(after, NACK_DELAY);
            }
            other => panic!("{other:?}"),
        }
        world.advance(NACK_DELAY - MINUTE).await;
        world.assert_nothing_to_lease().await;
        world.advance(MINUTE).await;
        assert_eq!(world.reserve_ids(1).await, [lease.id()]);
        world.delete(lease.id(), true).await.expect("delete_job");
    }
}

/// R1.3: a fatal failure dead-letters the job even with attempts left; a nack Cancelled ends it as
/// cancelled.
/// Guard: the kind of the nack decides, not the attempts.
pub async fn r1_3_fatal_dead_letters_and_cancelled_cancels(world: &dyn World) {
    let fatal = world.lease(draft()).await;
    world.kill(&fatal).await;
    let job = world.job(fatal.id()).await;
    assert_eq!((job.state, job.attempts, job.errors.len()), (State::Dead, 1, 1));
    assert!(job.reason.is_some());
    let off = world.lease(draft()).await;
    world.call_off(&off).await;
    let job = world.job(off.id()).await;
    assert_eq!(job.state, State::Cancelled);
    assert!(job.finished_at.is_some());
}

/// R10.1: single calls turn a lost lease and an unknown job into errors of that name.
/// Guard: the mapping of outcomes in `BackendExt`.
pub async fn r10_1_single_calls_turn_outcomes_into_errors(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let store = world.backend();
    let ack = || Ack::new(lease.token.clone());
    let nack = || Nack::new(lease.token.clone(), NackKind::Retry, "failed", HOUR);
    let dead_letter = || DeadLetter::of_job(lease.id(), "dead_lettered");
    assert!(matches!(kind_of(store.dead_letter_one(dead_letter()).await), ErrorKind::Conflict));
    assert!(store.ack_one(ack()).await.expect("ack"));
    assert!(!store.ack_one(ack()).await.expect("a repeated ack"));
    assert_eq!(world.ack(&lease.token).await, AckOutcome::AlreadyDone);
    assert!(matches!(kind_of(store.nack_one(nack()).await), ErrorKind::LeaseLost));
    world.delete(lease.id(), false).await.expect("delete_job");
    assert!(matches!(kind_of(store.ack_one(ack()).await), ErrorKind::NotFound));
    assert!(matches!(kind_of(store.nack_one(nack()).await), ErrorKind::NotFound));
    assert!(matches!(kind_of(store.dead_letter_one(dead_letter()).await), ErrorKind::NotFound));
    let other = JobDraft::new("work", "a").id(world.enqueue(draft()).await);
    let conflict = store.enqueue_one(crate::kit::build(other)).await;
    assert!(matches!(kind_of(conflict), ErrorKind::Conflict));
}
