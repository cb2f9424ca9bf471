//! R13.8: a job whose payload cannot be read waits for a worker that can read it.

use std::time::Duration;

use queuekit_core::capability::Why;
use queuekit_core::limits::{RELEASES_KEPT, UNDECODABLE, UNDECODABLE_BYTES};
use queuekit_core::queue::KeyOnWait;
use queuekit_core::{
    BackendExt, JobFilter, JobId, Lease, Nack, NackKind, NackOutcome, QueuePatch, ReleaseCause,
    Status, Undecodable,
};

use crate::World;
use crate::kit::{HOUR, MILLISECOND, MINUTE, Moment, beat_of, default_queue, draft, keyed};

const SECOND: Duration = Duration::from_secs(1);
/// What no worker of these cases can read.
const TEXT: &str = "payload of work at \"name\": missing";

/// The holder of the lease cannot read the payload.
async fn park(world: &dyn World, lease: &Lease) -> NackOutcome {
    let nack = world.backend().park(lease.token.clone(), TEXT).await.expect("park");
    world.backend().nack_one(nack).await.expect("nack")
}

/// Likewise; the job waits on.
async fn park_on(world: &dyn World, lease: &Lease) {
    let outcome = park(world, lease).await;
    assert!(matches!(outcome, NackOutcome::Released { .. }), "{outcome:?}");
}

async fn park_for(world: &dyn World, lease: &Lease, delay: Duration) {
    assert_eq!(park(world, lease).await, NackOutcome::Released { after: delay });
}

async fn mark(world: &dyn World, id: JobId) -> Option<Undecodable> {
    world.job(id).await.undecodable().cloned()
}

/// R13.8: a payload that cannot be read takes no attempt; the release has the text and the time of
/// the first, and a worker that can read it runs the job at its first attempt.
/// Guard: the mark is stored with the release.
pub async fn r13_8_a_payload_that_is_not_read_takes_no_attempt(world: &dyn World) {
    let id = world.enqueue(draft().max_attempts(1)).await;
    let mut since = None;
    for times in 1..=3 {
        let lease = world.reserve_one().await;
        let started = world.job(id).await.started_at.expect("it runs");
        let since = *since.get_or_insert(started);
        park_on(world, &lease).await;
        let job = world.job(id).await;
        assert_eq!((job.status, job.attempts, job.releases), (Status::Scheduled, 0, times));
        assert_eq!(job.undecodable(), Some(&Undecodable::new(TEXT, since, times)));
        assert!(job.errors.is_empty(), "{:?}", job.errors);
        let last = job.released.last().expect("a release");
        assert_eq!(last.cause, Some(ReleaseCause::Undecodable));
        assert_eq!(last.started_at, Some(started));
        world.advance(MINUTE).await;
    }
    let lease = world.reserve_one().await;
    assert_eq!((lease.attempt, lease.releases), (1, 3));
    world.complete(&lease).await;
    assert_eq!(mark(world, id).await, None, "a job that has completed was read");
}

/// R13.8: the text of a mark is kept up to 1 KiB, whatever it is.
/// Guard: the mark is stored as one text.
pub async fn r13_8_the_text_of_a_mark_is_bounded(world: &dyn World) {
    let id = world.enqueue(draft()).await;
    let lease = world.reserve_one().await;
    let text = format!("\0\"{}", "\u{e9}".repeat(UNDECODABLE_BYTES));
    let nack = world.backend().park(lease.token.clone(), &text).await.expect("park");
    let outcome = world.backend().nack_one(nack).await.expect("nack");
    assert_eq!(outcome, NackOutcome::Released { after: SECOND });
    let error = mark(world, id).await.expect("a mark").error;
    assert!(error.as_str().starts_with("\u{fffd}\"\u{e9}"), "{error}");
    assert_eq!(error.as_str().len(), UNDECODABLE_BYTES);
}

/// R13.8: the job waits 1 s, which doubles up to 60 s, and 1 h from the tenth time on.
/// Guard: the delay of the release.
pub async fn r13_8_it_waits_1_s_doubling_to_60_s_and_then_1_h(world: &dyn World) {
    world.enqueue(draft()).await;
    let seconds = [1, 2, 4, 8, 16, 32, 60, 60, 60, 3600, 3600];
    for delay in seconds.map(Duration::from_secs) {
        let lease = world.reserve_one().await;
        park_for(world, &lease, delay).await;
        // A clock that runs by itself may have passed a short delay by now.
        let step = world.slack().max(MILLISECOND).min(delay);
        world.advance(delay - step).await;
        if step < delay {
            assert!(world.reserve(1).await.is_empty(), "less than {delay:?} have passed");
        }
        world.advance(step).await;
    }
}

/// R13.8: a job that is met 7 days after the first is dead, with a reason that says since when and
/// what could not be read; before, it waits on, although its first release is no longer listed.
/// Guard: each mark carries the time of the first.
pub async fn r13_8_it_is_dead_if_it_is_met_7_days_after_the_first(world: &dyn World) {
    for moment in Moment::ALL {
        let id = world.enqueue(draft()).await;
        let lease = world.reserve_one().await;
        park_for(world, &lease, SECOND).await;
        let mut passed = Duration::ZERO;
        for _ in 0..RELEASES_KEPT {
            world.advance(HOUR).await;
            passed += HOUR;
            let lease = world.reserve_one().await;
            park_on(world, &lease).await;
        }
        let first = mark(world, id).await.expect("a mark").since;
        world.advance_to(moment, UNDECODABLE - passed).await;
        let lease = world.reserve_one().await;
        if moment.has_come() {
            assert_eq!(park(world, &lease).await, NackOutcome::Dead, "{moment:?}");
            let job = world.job(id).await;
            let reason = job.reason.expect("a reason").to_string();
            assert!(
                reason.contains("could not be read since") && reason.contains(TEXT),
                "{reason}"
            );
            let since = serde_json::to_value(Undecodable::new("", first, 1)).expect("JSON");
            let since = since["since"].as_str().expect("a time");
            assert!(reason.contains(since), "{reason}");
        } else {
            park_for(world, &lease, HOUR).await;
            assert_eq!(mark(world, id).await.expect("a mark").since, first);
            world.delete(id, false).await.expect("delete_job");
        }
    }
}

/// R13.8: after an operator's retry, the 7 days and the delays begin anew.
/// Guard: a retry begins the releases that count anew.
pub async fn r13_8_a_retry_begins_anew(world: &dyn World) {
    let id = world.enqueue(draft()).await;
    for delay in [1, 2] {
        let lease = world.reserve_one().await;
        park_for(world, &lease, delay * SECOND).await;
        world.advance(HOUR).await;
    }
    world.advance(UNDECODABLE).await;
    let lease = world.reserve_one().await;
    assert_eq!(park(world, &lease).await, NackOutcome::Dead);
    assert_eq!(mark(world, id).await, None, "dead");
    world.bring_back(id).await;
    assert_eq!(mark(world, id).await, None, "retried");
    let lease = world.reserve_one().await;
    world.release(&lease, Duration::ZERO).await;
    assert_eq!(mark(world, id).await, None, "released since, without a mark");
    let lease = world.reserve_one().await;
    let started = world.job(id).await.started_at.expect("it runs");
    park_for(world, &lease, SECOND).await;
    assert_eq!(mark(world, id).await, Some(Undecodable::new(TEXT, started, 1)));
}

/// R13.8: a job without a handler, or one that a worker gave back, keeps its mark; a failure and a
/// snooze end it, because the payload was read.
/// Guard: releases are listed in their order, with their causes.
pub async fn r13_8_the_mark_lasts_until_the_payload_is_read(world: &dyn World) {
    let id = world.enqueue(draft().max_attempts(9)).await;
    let lease = world.reserve_one().await;
    park_on(world, &lease).await;
    let first = mark(world, id).await;
    world.advance(HOUR).await;
    for cause in [ReleaseCause::UnknownKind, ReleaseCause::Shutdown, ReleaseCause::Throttle] {
        release(world, cause).await;
        assert_eq!(mark(world, id).await, first, "{cause}");
    }
    let lease = world.reserve_one().await;
    assert_eq!(mark(world, id).await, first, "it runs");
    park_for(world, &lease, 2 * SECOND).await;
    world.advance(HOUR).await;
    release(world, ReleaseCause::Snooze).await;
    assert_eq!(mark(world, id).await, None, "snoozed");
    let lease = world.reserve_one().await;
    park_for(world, &lease, SECOND).await;
    world.advance(HOUR).await;
    let lease = world.reserve_one().await;
    world.fail(&lease, Duration::ZERO).await;
    assert_eq!(mark(world, id).await, None, "failed");
}

/// Gives the only job that is due back for this cause.
async fn release(world: &dyn World, cause: ReleaseCause) {
    let lease = world.reserve_one().await;
    let nack = Nack::new(lease.token.clone(), NackKind::Release, "", Duration::ZERO);
    let outcome = world.backend().nack_one(nack.because(cause)).await.expect("nack");
    assert_eq!(outcome, NackOutcome::Released { after: Duration::ZERO });
}

/// R13.8, R6.9: `why` says what could not be read, since when and when the job is offered again; a
/// list shows the mark.
/// Guard: the mark is read before the time.
pub async fn r13_8_why_and_lists_show_the_mark(world: &dyn World) {
    let id = world.enqueue(draft()).await;
    let other = world.enqueue(draft().delay(HOUR)).await;
    let lease = world.reserve_one().await;
    park_for(world, &lease, SECOND).await;
    world.advance(MINUTE).await;
    let lease = world.reserve_one().await;
    park_for(world, &lease, 2 * SECOND).await;
    world.beat(&beat_of("w")).await;
    let why = world.admin().why(id).await.expect("why").expect("the job is stored");
    match &why {
        Why::Undecodable { in_, error, for_, times: 2 } => {
            world.assert_left(Some(*in_), 2 * SECOND);
            world.assert_passed(*for_, MINUTE);
            assert_eq!(error, TEXT);
        }
        other => panic!("{other:?}"),
    }
    assert!(why.to_string().contains(TEXT), "{why}");
    let listed = world.list(JobFilter::default()).await;
    let marked: Vec<_> = listed.iter().filter(|job| job.undecodable().is_some()).collect();
    assert_eq!(marked.len(), 1, "{listed:?}");
    assert_eq!(marked[0].undecodable(), mark(world, id).await.as_ref());
    assert_eq!(mark(world, other).await, None);
}

/// R13.8, R7.3: with `block`, the later jobs of its partition key wait; with `skip`, they run.
/// Guard: the job leaves its lease as any released job does.
pub async fn r13_8_its_key_waits_or_is_passed(world: &dyn World) {
    for (wait, passes) in [(KeyOnWait::Block, false), (KeyOnWait::Skip, true)] {
        let patch = QueuePatch::default().key_on_wait(wait);
        world.configure(&default_queue(), patch).await;
        let ids = world.enqueue_all((0..2).map(|_| keyed("k"))).await;
        let lease = world.reserve_one().await;
        assert_eq!(lease.id(), ids[0]);
        park_for(world, &lease, SECOND).await;
        let next = world.reserve(2).await;
        let next_ids: Vec<_> = next.iter().map(Lease::id).collect();
        assert_eq!(next_ids, if passes { vec![ids[1]] } else { vec![] }, "{wait:?}");
        for lease in &next {
            world.complete(lease).await;
        }
        world.advance(SECOND).await;
        while let Some(lease) = world.reserve(1).await.pop() {
            world.complete(&lease).await;
        }
        assert_eq!(world.job(ids[0]).await.status, Status::Completed);
        assert_eq!(world.job(ids[1]).await.status, Status::Completed);
    }
}
