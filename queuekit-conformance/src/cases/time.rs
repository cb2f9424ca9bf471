//! R9: the store's clock.

use std::time::Duration;

use queuekit_core::capability::CancelOutcome;
use queuekit_core::queue::{KeyOnWait, Order};
use queuekit_core::{AckOutcome, JobDraft, Priority, QueuePatch, State};

use crate::World;
use crate::kit::{
    DAY, HOUR, MILLISECOND, MINUTE, Moment, TTL, default_queue, draft, keyed, unique,
};

/// R9.1: every time that a store returns is from its one clock, which the harness moves.
/// Guard: each operation reads the store's clock, once.
pub async fn r9_1_every_instant_is_of_the_stores_clock(world: &dyn World) {
    let step = HOUR + MILLISECOND;
    let start = world.store_now().await;
    let mut instants = vec![start];
    let id = world.enqueue(draft()).await;
    instants.push(world.job(id).await.created_at);
    world.advance(step).await;
    let lease = world.reserve_one().await;
    instants.push(world.job(id).await.started_at.expect("a start"));
    world.advance(step).await;
    world.fail(&lease, Duration::ZERO).await;
    instants.push(world.job(id).await.errors[0].at);
    world.advance(step).await;
    let lease = world.reserve_one().await;
    world.complete(&lease).await;
    instants.push(world.job(id).await.finished_at.expect("an end"));
    instants.push(world.queue(&default_queue()).await.as_of);
    for (at, steps) in instants.iter().zip([0, 0, 1, 2, 3, 3]) {
        world.assert_passed(at.since(start), steps * step);
    }
}

/// R9.2: a duration counts from the store's now, whatever the client's clock shows.
/// Guard: delays and deadlines travel as durations.
pub async fn r9_2_durations_count_from_the_stores_now(world: &dyn World) {
    for draft in [draft(), unique("u"), keyed("k")] {
        let now = world.store_now().await;
        let id = world.enqueue(draft.delay(HOUR).deadline(2 * HOUR)).await;
        let job = world.job(id).await;
        world.assert_passed(job.scheduled_at.since(now), HOUR);
        world.assert_left(job.deadline_in, 2 * HOUR);
        world.delete(id, false).await.expect("delete_job");
        world.advance(1000 * DAY).await;
    }
}

/// R9.2: an instant from a client is compared only with the store's now; one that has passed counts
/// as now.
/// Guard: `Start::At` is never turned into a duration by the client.
pub async fn r9_2_run_at_is_of_the_stores_clock(world: &dyn World) {
    world.advance(1000 * DAY).await;
    let now = world.store_now().await;
    let mut due = Vec::new();
    for draft in [draft(), unique("u"), keyed("k")] {
        let past = world.enqueue(draft.run_at(now.minus(DAY))).await;
        assert!(
            world.job(past).await.scheduled_at >= now,
            "a run_at in the past should count as now"
        );
        due.push(past);
    }
    let future = world.enqueue(draft().run_at(now + HOUR)).await;
    assert_eq!(world.job(future).await.scheduled_at, now + HOUR);
    assert_eq!(world.reserve_ids(5).await, due);
    world.advance(HOUR).await;
    assert!(world.reserve_ids(5).await.contains(&future));
}

/// R9.3: the resolution is 1 ms, rounded so that nothing is early.
/// Guard: schedules are whole milliseconds, rounded up.
pub async fn r9_3_schedules_resolve_to_a_millisecond(world: &dyn World) {
    let now = world.store_now().await;
    let due = |millis| now + HOUR + Duration::from_millis(millis);
    let mut ids = Vec::new();
    for millis in [3, 1, 2] {
        let id = world.enqueue(draft().run_at(due(millis))).await;
        assert_eq!(world.job(id).await.scheduled_at, due(millis));
        ids.push(id);
    }
    let odd = world.enqueue(draft().delay(Duration::from_micros(1500))).await;
    let job = world.job(odd).await;
    let wait = job.scheduled_at.since(job.created_at);
    assert!(wait >= Duration::from_micros(1500), "{wait:?} is early");
    world.delete(odd, false).await.expect("delete_job");
    world.advance(2 * HOUR).await;
    assert_eq!(world.reserve_ids(5).await, [ids[1], ids[2], ids[0]]);
}

/// R9.4: a jump forward expires leases early, and loses nothing.
/// Guard: a reclaimed job is pending, and its old lease is stale.
pub async fn r9_4_a_jump_forward_loses_no_job(world: &dyn World) {
    let ids = world.enqueue_n(4).await;
    let old = world.reserve(2).await;
    world.advance(3650 * DAY).await;
    let new = world.reserve(2).await;
    assert_eq!(new[0].id(), old[0].id());
    assert_eq!(world.ack(&old[0].token).await, AckOutcome::LeaseLost);
    for lease in &new {
        world.complete(lease).await;
    }
    assert_eq!(world.serve_all(&default_queue()).await, ids[2..]);
}

/// Sets the clock back by the least amount that matters. Returns that amount.
async fn jump_back(world: &dyn World) -> Duration {
    let back = world.slack() + MILLISECOND;
    assert!(world.rewind(back).await, "the harness said it can");
    back
}

/// R9.4: a job that was due waits again after the clock was set back, in a fair queue too.
/// Guard: the step that grants the lease compares `scheduled_at`, whatever was found before.
pub async fn r9_4_after_a_jump_back_nothing_runs_early(world: &dyn World) {
    world.configure(&default_queue(), QueuePatch::default().order(Order::Fair)).await;
    let jobs = [keyed("k"), draft()].map(|job| job.delay(HOUR));
    world.enqueue_all(jobs).await;
    world.advance(HOUR).await;
    // A change of the key, so that the store looks at it now.
    let behind = world.enqueue(keyed("k")).await;
    assert_eq!(world.cancel(behind).await, CancelOutcome::Cancelled);
    let back = jump_back(world).await;
    world.assert_nothing_to_lease().await;
    world.advance(back).await;
    assert_eq!(world.reserve(5).await.len(), 2);
}

/// R9.4: so does a job of a fair queue that a reserve has found due and not leased.
/// Guard: the step that grants the lease compares the time of the key's next job.
pub async fn r9_4_after_a_jump_back_what_has_a_turn_waits(world: &dyn World) {
    world.configure(&default_queue(), QueuePatch::default().order(Order::Fair)).await;
    let jobs = [keyed("a"), keyed("b")].map(|job| job.delay(HOUR));
    assert_second_waits(world, jobs).await;
}

/// R9.4: so does a job that takes the place of an earlier due job of its key.
/// Guard: the step that grants the lease compares the job's own time.
pub async fn r9_4_after_a_jump_back_what_stands_behind_its_key_waits(world: &dyn World) {
    world.configure(&default_queue(), QueuePatch::default().per_key(2)).await;
    let urgent = Priority::new(20).expect("a priority");
    let jobs = [keyed("k").delay(MINUTE), keyed("k").delay(HOUR).priority(urgent)];
    assert_second_waits(world, jobs).await;
}

/// Of two jobs that are due in an hour at the latest the first is leased then; after a jump back
/// the second waits until its time comes again.
async fn assert_second_waits(world: &dyn World, jobs: [JobDraft; 2]) {
    let ids = world.enqueue_all(jobs).await;
    world.advance(HOUR).await;
    let first = world.reserve_one().await;
    let back = jump_back(world).await;
    world.assert_nothing_to_lease().await;
    world.advance(back).await;
    let second = world.reserve_one().await;
    assert_eq!([first.id(), second.id()], ids[..]);
}

/// R9.4: after the clock was set back, a head waits again, and under `skip` its key keeps its fair
/// turn.
/// Guard: jobs that were due at the last check are checked again.
pub async fn r9_4_after_a_jump_back_a_waiting_head_is_passed(world: &dyn World) {
    let settings = QueuePatch::default().key_on_wait(KeyOnWait::Skip).order(Order::Fair);
    world.configure(&default_queue(), settings).await;
    let head = world.enqueue(keyed("k").delay(HOUR)).await;
    let next = world.enqueue(keyed("k")).await;
    world.advance(HOUR).await;
    let last = world.enqueue(keyed("k")).await;
    let back = jump_back(world).await;
    assert_eq!(world.serve_all(&default_queue()).await, [next]);
    world.advance(back).await;
    assert_eq!(world.serve_all(&default_queue()).await, [head, last]);
}

/// R9.4: if the clock is set back, leases expire later by that time, and no job is lost, leased
/// twice or leased early.
/// Guard: the store keeps no state about the clock, and the fence tests no time.
pub async fn r9_4_a_jump_back_loses_no_job(world: &dyn World) {
    let ids = world.enqueue_n(4).await;
    let leases = world.reserve(3).await;
    let [held, failing, late] = &leases[..] else { panic!("three leases: {leases:?}") };
    assert!(world.rewind(DAY).await, "the harness said it can");
    world.assert_nothing_to_lease().await;
    assert_eq!(world.state(held.id()).await, State::Running);
    world.complete(held).await;
    world.fail(failing, MINUTE).await;
    let new = world.enqueue(draft()).await;
    world.advance(HOUR).await;
    assert_eq!(world.serve_all(&default_queue()).await, [new, failing.id()]);
    // The last one waits for the time that had come once, and `late` is leased until then and TTL.
    world.advance_to(Moment::Before, 23 * HOUR + TTL).await;
    assert_eq!(world.serve_all(&default_queue()).await, [ids[3]]);
    assert_eq!(world.state(late.id()).await, State::Running);
    world.advance(MINUTE).await;
    assert_eq!(world.serve_all(&default_queue()).await, [late.id()]);
    for id in ids {
        assert_eq!(world.state(id).await, State::Completed);
    }
}
