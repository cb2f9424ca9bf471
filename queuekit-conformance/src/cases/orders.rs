//! R3.9: what workers say of themselves, and orders to them.

use std::num::NonZeroU32;
use std::time::Duration;

use queuekit_core::Timestamp;
use queuekit_core::capability::{
    About, Beat, ExtendOutcome, OrderedMode, Orders, Running, UndecodableKind, WorkerOrder,
};
use queuekit_core::limits::{BEAT_JOBS, ORDER_SEQ, ORDERED_WORKERS, QUIET};

use crate::World;
use crate::kit::{
    HOUR, MINUTE, Moment, TTL, assert_invalid, beat_of, default_queue, draft, kind, worker,
};

fn slots(number: u32) -> WorkerOrder {
    WorkerOrder::Slots(NonZeroU32::new(number).expect("not zero"))
}

/// The beat of a worker that has obeyed all orders up to this number.
fn obeyed(id: &str, seq: u64) -> Beat {
    let mut beat = beat_of(id);
    beat.obeyed = seq;
    beat
}

fn mode(seq: u64, mode: OrderedMode) -> Orders {
    Orders { seq, mode: Some(mode), slots: None }
}

/// The orders that the list shows of a worker; they are those that its id finds.
async fn shown(world: &dyn World, id: &str) -> Orders {
    let found = world.worker(id).await.expect("the worker is listed").orders;
    let listed = world.workers().await;
    let listed = listed.into_iter().find(|info| info.beat.id == worker(id));
    assert_eq!(listed.map(|info| info.orders), Some(found));
    found
}

/// R3.9: a beat tells the process of a worker, the jobs that it runs, and the kinds that it cannot
/// read.
/// Guard: what the worker says of itself is stored with each beat.
pub async fn r3_9_a_beat_tells_what_runs(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let at = Timestamp::from_millis(1_700_000_000_123);
    let mut beat = beat_of("w");
    let running = Running::new(lease.id(), kind("work"), at);
    beat.about = About::default().with_host("mail-7.example").with_pid(4711);
    beat.about = beat.about.with_version("1.4.0\0\"é").with_started_at(at).with_jobs([running]);
    let undecodable = UndecodableKind::new(kind("work"), "at \"name\"\0: é", at);
    beat.about = beat.about.with_undecodable([undecodable]);
    for beat in [beat_of("w"), beat, beat_of("w")] {
        world.beat(&beat).await;
        assert_eq!(world.worker("w").await.map(|info| info.beat), Some(beat.clone()));
        assert_eq!(world.workers().await[0].beat, beat);
    }
}

/// R3.9: a beat names at most 100 running jobs.
/// Guard: as many fit, of the longest kind.
pub async fn r3_9_at_most_100_running_are_told(world: &dyn World) {
    let (lease, at) = (world.lease(draft()).await, Timestamp::from_millis(1_700_000_000_123));
    let running = Running::new(lease.id(), kind(&"k".repeat(128)), at);
    let mut beat = beat_of("w");
    beat.about = About::default().with_jobs(std::iter::repeat_n(running, BEAT_JOBS + 1));
    assert_eq!(beat.about.jobs().len(), BEAT_JOBS);
    world.beat(&beat).await;
    assert_eq!(world.worker("w").await.expect("it is listed").beat, beat);
}

/// R3.9: the next beat is answered with an order, and so is each until the worker says that it has
/// obeyed; until then the list shows it. Orders to one worker are none to another.
/// Guard: the id in the condition of `control`, and the number that a beat says.
pub async fn r3_9_an_order_is_shown_until_obeyed(world: &dyn World) {
    for id in ["v", "w", "x"] {
        assert_eq!(world.beat(&beat_of(id)).await, Orders::default());
    }
    assert_eq!(world.control(&["w"], WorkerOrder::Quiet).await, [true]);
    let quiet = mode(1, OrderedMode::Quiet);
    for _ in 0..2 {
        assert_eq!(shown(world, "w").await, quiet);
        assert_eq!(world.beat(&beat_of("w")).await, quiet);
    }
    let none = Orders { seq: 1, ..Orders::default() };
    assert_eq!(world.beat(&obeyed("w", 1)).await, none);
    assert_eq!(shown(world, "w").await, none);
    // The answer to that beat may have been lost, and a late one may come behind it.
    for said in [1, 0] {
        assert_eq!(world.beat(&obeyed("w", said)).await, none);
    }
    for id in ["v", "x"] {
        assert_eq!(shown(world, id).await, Orders::default());
        assert_eq!(world.beat(&beat_of(id)).await, Orders::default());
    }
}

/// R3.9: of orders about the same, the last counts; orders about slots and the others stand side by
/// side. What was given since the last that was obeyed is left.
/// Guard: an order changes its own part, and counts on.
pub async fn r3_9_the_last_order_counts(world: &dyn World) {
    world.beat(&beat_of("w")).await;
    let given = [
        WorkerOrder::Quiet,
        slots(3),
        WorkerOrder::Resume,
        slots(7),
        WorkerOrder::Stop,
        WorkerOrder::Resume,
    ];
    for order in given {
        assert_eq!(world.control(&["w"], order).await, [true]);
    }
    let left = Orders { seq: 6, mode: Some(OrderedMode::Resume), slots: NonZeroU32::new(7) };
    assert_eq!(world.beat(&beat_of("w")).await, left);
    assert_eq!(world.beat(&obeyed("w", 5)).await, left, "the last is not obeyed yet");
    assert_eq!(world.beat(&obeyed("w", 6)).await, Orders { seq: 6, ..Orders::default() });
    assert_eq!(world.control(&["w"], slots(u32::MAX >> 1)).await, [true]);
    let last = Orders { seq: 7, mode: None, slots: NonZeroU32::new(u32::MAX >> 1) };
    assert_eq!(world.beat(&obeyed("w", 6)).await, last);
    assert_eq!(world.control(&["w"], WorkerOrder::Stop).await, [true]);
    let stop = Orders { seq: 8, mode: Some(OrderedMode::Stop), ..last };
    assert_eq!(world.beat(&obeyed("w", 6)).await, stop);
}

/// R3.9: an order is given to the workers that are listed at that moment, and the answer says which
/// were.
/// Guard: the age in the condition of `control`.
pub async fn r3_9_who_is_not_listed_gets_no_order(world: &dyn World) {
    assert_eq!(world.control(&[], WorkerOrder::Quiet).await, [false; 0]);
    world.beat(&beat_of("b")).await;
    assert_eq!(world.control(&["c", "b", "a"], WorkerOrder::Quiet).await, [false, true, false]);
    assert_eq!(world.beat(&beat_of("c")).await, Orders::default(), "an order waits for nobody");
    for moment in Moment::ALL {
        world.beat(&beat_of("b")).await;
        world.advance_to(moment, 3 * TTL).await;
        let given = world.control(&["b"], WorkerOrder::Stop).await;
        assert_eq!(given, [!moment.has_come()], "{moment:?}");
    }
}

/// R3.9: orders are gone with their worker, whether it is forgotten or its 3 ttl are over.
/// Guard: a worker that comes to be listed begins without orders.
pub async fn r3_9_orders_are_gone_with_the_worker(world: &dyn World) {
    world.beat(&beat_of("w")).await;
    world.control(&["w"], WorkerOrder::Quiet).await;
    assert!(world.forget("w").await);
    assert_eq!(world.beat(&beat_of("w")).await, Orders::default());
    for moment in Moment::ALL {
        assert!(world.forget("w").await);
        world.beat(&beat_of("w")).await;
        world.control(&["w"], WorkerOrder::Stop).await;
        world.advance_to(moment, 3 * TTL).await;
        let left = if moment.has_come() { 0 } else { 1 };
        assert_eq!(world.beat(&beat_of("w")).await.seq, left, "{moment:?}");
        assert_eq!(shown(world, "w").await.is_empty(), moment.has_come(), "{moment:?}");
    }
}

/// R3.9: a worker that comes back to the list gets the next order, although it has obeyed others
/// before.
/// Guard: its orders count on from the last that it has obeyed.
pub async fn r3_9_a_worker_that_comes_back_gets_new_orders(world: &dyn World) {
    world.beat(&obeyed("w", 7)).await;
    world.control(&["w"], WorkerOrder::Quiet).await;
    assert_eq!(world.beat(&obeyed("w", 7)).await, mode(8, OrderedMode::Quiet));
    world.beat(&obeyed("w", 8)).await;
    assert!(world.forget("w").await);
    world.beat(&obeyed("w", 8)).await;
    world.control(&["w"], WorkerOrder::Resume).await;
    assert_eq!(world.beat(&obeyed("w", 8)).await, mode(9, OrderedMode::Resume));
}

/// R3.9: a listed worker that says it has obeyed what was never given has obeyed the last order
/// that was. One that is not listed begins at the highest number at most, and can still say that it
/// has obeyed what it is given.
/// Guard: a beat does not raise the number of a listed worker's orders.
pub async fn r3_9_a_beat_obeys_no_order_that_was_not_given(world: &dyn World) {
    world.beat(&beat_of("w")).await;
    world.control(&["w"], WorkerOrder::Quiet).await;
    for far in [2, 20, ORDER_SEQ, ORDER_SEQ + 1, u64::MAX] {
        let none = Orders { seq: 1, ..Orders::default() };
        assert_eq!(world.beat(&obeyed("w", far)).await, none, "{far}");
        assert_eq!(shown(world, "w").await, none, "{far}");
    }
    world.control(&["w"], WorkerOrder::Resume).await;
    assert_eq!(world.beat(&obeyed("w", 1)).await, mode(2, OrderedMode::Resume));
    assert!(world.forget("w").await);
    world.beat(&obeyed("w", u64::MAX)).await;
    world.control(&["w"], WorkerOrder::Stop).await;
    let last = ORDER_SEQ + 1;
    assert_eq!(world.beat(&obeyed("w", ORDER_SEQ)).await, mode(last, OrderedMode::Stop));
    let none = Orders { seq: last, ..Orders::default() };
    assert_eq!(world.beat(&obeyed("w", last)).await, none);
}

/// R3.9: no lease depends on an order: a worker that was ordered to stop settles, extends and even
/// reserves as before.
/// Guard: orders are read by beats and the list of workers only.
pub async fn r3_9_no_lease_depends_on_an_order(world: &dyn World) {
    for _ in 0..2 {
        world.enqueue(draft()).await;
    }
    world.beat(&beat_of("w")).await;
    let held = world.reserve_as(worker("w"), 1, HOUR).await.remove(0);
    for order in [WorkerOrder::Quiet, slots(1), WorkerOrder::Stop] {
        assert_eq!(world.control(&["w"], order).await, [true]);
    }
    let extended = world.extend(&held.token, HOUR).await;
    assert_eq!(extended, ExtendOutcome::Extended { ttl: HOUR, cancel_requested: false });
    world.complete(&held).await;
    let next = world.reserve_as(worker("w"), 1, HOUR).await.remove(0);
    world.complete(&next).await;
}

/// R3.9: a worker that makes no call for a while says so, and is listed for as long and 3 ttl, but
/// no longer than an hour and 3 ttl.
/// Guard: the time that the last beat said, in each condition about the age of a beat.
pub async fn r3_9_a_quiet_worker_is_listed_longer(world: &dyn World) {
    world.enqueue(draft()).await;
    for (says, counts) in [(MINUTE, MINUTE), (QUIET, QUIET), (2 * QUIET, QUIET)] {
        let mut beat = beat_of("w");
        beat.quiet_for = says;
        for moment in Moment::ALL {
            world.beat(&beat).await;
            world.advance_to(moment, counts + 3 * TTL).await;
            let listed = !moment.has_come();
            assert_eq!(world.worker("w").await.is_some(), listed, "{says:?} {moment:?}");
            assert_eq!(world.workers().await.len(), usize::from(listed));
            let serving = world.queue(&default_queue()).await.workers;
            assert_eq!(serving, u64::from(listed), "{says:?} {moment:?}");
            world.beat(&beat_of("other")).await;
            assert_eq!(world.workers().await.len(), 1 + usize::from(listed));
            assert_eq!(world.forget("w").await, listed, "{says:?} {moment:?}");
            assert!(world.forget("other").await);
        }
    }
    let mut beat = beat_of("w");
    beat.quiet_for = MINUTE;
    world.beat(&beat).await;
    world.beat(&beat_of("w")).await;
    world.advance(3 * TTL + Duration::from_secs(10)).await;
    assert_eq!(world.workers().await, [], "the last beat counts");
}

/// R3.9: a quiet worker is given orders for as long as it is listed, and keeps them.
/// Guard: the same time in the conditions of `control` and of a beat.
pub async fn r3_9_a_quiet_worker_is_given_orders(world: &dyn World) {
    let mut beat = beat_of("w");
    beat.quiet_for = MINUTE;
    for moment in Moment::ALL {
        world.beat(&beat).await;
        world.advance_to(moment, MINUTE + 3 * TTL).await;
        let given = world.control(&["w"], WorkerOrder::Quiet).await;
        assert_eq!(given, [!moment.has_come()], "{moment:?}");
        let left = if moment.has_come() { 0 } else { 1 };
        assert_eq!(world.beat(&beat).await.seq, left, "{moment:?}");
        assert!(world.forget("w").await);
    }
}

/// R12: one call gives an order to at most 1,000 workers.
/// Guard: the number is checked before anything changes.
pub async fn r12_workers_of_one_order(world: &dyn World) {
    world.beat(&beat_of("w0")).await;
    let ids = |number: usize| (0..number).map(|n| worker(&format!("w{n}"))).collect::<Vec<_>>();
    let orders = world.orders();
    let most = orders.control(&ids(ORDERED_WORKERS), WorkerOrder::Quiet).await.expect("control");
    assert!(most[0] && !most[1..].contains(&true));
    let beyond = orders.control(&ids(ORDERED_WORKERS + 1), WorkerOrder::Stop).await;
    assert_invalid(beyond, "workers");
    assert_eq!(shown(world, "w0").await, mode(1, OrderedMode::Quiet));
}
