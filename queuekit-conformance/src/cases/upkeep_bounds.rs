//! Upkeep removes nothing 1 ms before its time: jobs that have ended, idempotency keys, events. No
//! schedule enqueues 1 ms early.

use std::time::Duration;

use queuekit_core::event::EventRetention;
use queuekit_core::queue::{Keep, Retention};
use queuekit_core::{CatchUp, EnqueueOutcome, JobDraft, JobId, QueuePatch, ScheduleDraft, State};

use super::events::{event, page};
use crate::World;
use crate::kit::{
    DAY, HOUR, MILLISECOND, MINUTE, Moment, default_queue, draft, schedule_name, unique,
};

const ENDS: [State; 3] = [State::Completed, State::Dead, State::Cancelled];

async fn keep(world: &dyn World, done: Keep, dead: Keep) {
    let retention = Retention::ALL.done(done).dead(dead);
    world.configure(&default_queue(), QueuePatch::default().retention(retention)).await;
}

fn keep_for(age: Duration) -> Keep {
    Keep::ALL.max_age(age)
}

/// A job that has just ended in this state.
async fn ended(world: &dyn World, draft: JobDraft, state: State) -> JobId {
    let lease = world.lease(draft).await;
    match state {
        State::Completed => world.complete(&lease).await,
        State::Dead => world.kill(&lease).await,
        _ => world.call_off(&lease).await,
    }
    lease.id()
}

/// Asserts that upkeep removes the job if its bound has come, and nothing else; then removes the
/// job.
async fn assert_is_pruned(world: &dyn World, id: JobId, moment: Moment, what: &str) {
    let removed = world.prune().await;
    assert_eq!(removed, u64::from(moment.has_come()), "{what}: {moment:?}");
    assert_eq!(world.find(id).await.is_none(), moment.has_come(), "{what}: {moment:?}");
    world.delete(id, true).await.expect("delete_job");
}

/// R12: ended jobs of each state are kept for their age, by default and as set.
/// Guard: the age in retention's condition, counted from `finished_at`.
pub async fn r12_what_has_ended_is_kept_for_its_age(world: &dyn World) {
    for moment in Moment::ALL {
        let id = ended(world, draft(), State::Completed).await;
        world.advance_to(moment, DAY).await;
        assert_is_pruned(world, id, moment, "with default settings").await;
    }
    // With the longer ages, the days on which the jobs ended have passed.
    for (done, dead) in [(HOUR, 2 * HOUR), (2 * DAY, 3 * DAY)] {
        keep(world, keep_for(done), keep_for(dead)).await;
        for state in ENDS {
            let age = if state == State::Dead { dead } else { done };
            for moment in Moment::ALL {
                let id = ended(world, draft(), state).await;
                world.advance_to(moment, age).await;
                assert_is_pruned(world, id, moment, state.as_str()).await;
            }
        }
    }
}

/// R12: the age counts from the end, however long ago the run began.
/// Guard: retention counts from `finished_at`.
pub async fn r12_the_age_counts_from_the_end(world: &dyn World) {
    keep(world, keep_for(HOUR), keep_for(HOUR)).await;
    for state in ENDS {
        let lease = world.lease(draft()).await;
        world.advance(2 * HOUR).await;
        match state {
            State::Completed => world.complete(&lease).await,
            State::Dead => world.kill(&lease).await,
            _ => world.call_off(&lease).await,
        }
        assert_eq!(world.prune().await, 0, "{state} just now");
        world.delete(lease.id(), false).await.expect("delete_job");
    }
}

/// R5.4, R12: the age of a dead job that was retried and died again counts from its last end.
/// Guard: a retry clears `finished_at`, and with it the job's place in retention.
pub async fn r5_4_what_died_again_is_kept_from_its_last_end(world: &dyn World) {
    keep(world, Keep::ALL, keep_for(HOUR)).await;
    for moment in Moment::ALL {
        let id = ended(world, draft(), State::Dead).await;
        world.advance(50 * MINUTE).await;
        world.bring_back(id).await;
        let again = world.reserve_one().await;
        world.kill(&again).await;
        world.advance(30 * MINUTE).await;
        assert_eq!(world.prune().await, 0, "the first end is 80 min ago, the last 30");
        world.advance_to(moment, 30 * MINUTE).await;
        assert_is_pruned(world, id, moment, "died again").await;
    }
}

/// R12: neither number nor bytes remove a job that ended less than 60 s ago.
/// Guard: the grace in retention's condition.
pub async fn r12_number_and_bytes_spare_the_last_minute(world: &dyn World) {
    for (what, jobs, bytes) in [("number", Some(0), None), ("bytes", None, Some(0))] {
        let none = Keep::ALL.max_jobs(jobs).max_bytes(bytes);
        keep(world, none, none).await;
        for state in ENDS {
            for moment in Moment::ALL {
                let id = ended(world, draft(), state).await;
                world.advance_to(moment, MINUTE).await;
                assert_is_pruned(world, id, moment, what).await;
            }
        }
    }
}

/// Enqueues with the key again: it is free if the window has passed since its job ended.
async fn assert_is_free(world: &dyn World, key: &str, id: JobId, moment: Moment, what: &str) {
    let outcome = world.try_enqueue(unique(key)).await;
    match moment.has_come() {
        true => assert!(outcome.is_created(), "{what}, {moment:?}: {outcome:?}"),
        false => {
            assert_eq!(outcome, EnqueueOutcome::Duplicate { existing: id }, "{what}, {moment:?}")
        }
    }
    for id in [Some(id), outcome.job_id()].into_iter().flatten() {
        world.delete(id, true).await.expect("delete_job");
    }
}

/// R2.5: the key is free 24 h after the end of its job, counted from the end.
/// Guard: the window begins at `finished_at`, not at the enqueue, and ends when now reaches it.
pub async fn r2_5_a_key_is_free_after_the_window(world: &dyn World) {
    for state in ENDS {
        for moment in Moment::ALL {
            let key = format!("of a {state} job, {moment:?}");
            let id = world.enqueue(unique(&key)).await;
            world.advance(20 * HOUR).await;
            let lease = world.reserve_one().await;
            match state {
                State::Completed => world.complete(&lease).await,
                State::Dead => world.kill(&lease).await,
                _ => world.call_off(&lease).await,
            }
            world.advance_to(moment, DAY).await;
            assert_is_free(world, &key, id, moment, state.as_str()).await;
        }
    }
}

/// R2.5: the window is a setting of the queue.
/// Guard: the test of a key uses the queue's `dedup_window`.
pub async fn r2_5_the_window_is_a_setting(world: &dyn World) {
    world.configure(&default_queue(), QueuePatch::default().dedup_window(HOUR)).await;
    for moment in Moment::ALL {
        let key = format!("{moment:?}");
        let id = ended(world, unique(&key), State::Completed).await;
        world.advance_to(moment, HOUR).await;
        assert_is_free(world, &key, id, moment, "with the configured window").await;
    }
}

/// R2.5: upkeep removes a key when its window has passed, whether its job is stored or was pruned.
/// Guard: the time in the condition of this removal.
pub async fn r2_5_upkeep_forgets_no_key_within_its_window(world: &dyn World) {
    for (what, done) in [("stored", Keep::ALL), ("pruned", keep_for(HOUR))] {
        keep(world, done, Keep::ALL).await;
        for moment in Moment::ALL {
            let key = format!("{what}, {moment:?}");
            let id = ended(world, unique(&key), State::Completed).await;
            world.advance(2 * HOUR).await;
            assert_eq!(world.prune().await, u64::from(what == "pruned"), "{what}");
            world.advance_to(moment, DAY - 2 * HOUR).await;
            world.prune().await;
            assert_is_free(world, &key, id, moment, what).await;
        }
    }
}

/// R14.6: an event is kept for the age of the log; a store that removes events by the day keeps it
/// for up to a day longer.
/// Guard: the age in the condition that removes events.
pub async fn r14_6_an_event_is_kept_for_its_age(world: &dyn World) {
    let retention = EventRetention::new(DAY, 1000).expect("a retention");
    world.event_log().set_retention(retention).await.expect("set_retention");
    for moment in Moment::ALL {
        world.emit(event("e", "data")).await;
        world.advance_to(moment, DAY).await;
        world.prune().await;
        let left = world.events(page(10)).await.len();
        if !moment.has_come() {
            assert_eq!(left, 1, "{moment:?}");
        }
        if moment.has_come() && !world.expect().drops_history {
            assert_eq!(left, 0, "{moment:?}");
        }
        world.advance(2 * DAY).await;
        world.prune().await;
        assert_eq!(world.events(page(10)).await.len(), 0, "two days later");
    }
}

/// R14.6: the limit by number keeps events that are less than 60 s old.
/// Guard: the grace in the condition that removes events.
pub async fn r14_6_the_number_spares_the_last_minute(world: &dyn World) {
    let one = EventRetention::new(30 * DAY, 1).expect("a retention");
    world.event_log().set_retention(one).await.expect("set_retention");
    world.emit(event("e", "first")).await;
    for moment in Moment::ALL {
        world.advance(2 * MINUTE).await;
        world.prune().await;
        assert_eq!(world.events(page(10)).await.len(), 1);
        world.emit(event("e", "more")).await;
        world.emit(event("e", "the last")).await;
        world.advance_to(moment, MINUTE).await;
        world.prune().await;
        let left = world.events(page(10)).await.len();
        // Its number is kept, whatever its age.
        assert_eq!(left, if moment.has_come() { 1 } else { 2 }, "{moment:?}");
    }
}

/// R15.3: nothing is enqueued before its time, and a tick returns when to tick again.
/// Guard: the store's clock is compared with the next time.
pub async fn r15_3_nothing_is_enqueued_early(world: &dyn World) {
    for moment in Moment::ALL {
        let hour = world.to_the_hour().await;
        world.declare(ScheduleDraft::every("s", HOUR, draft())).await;
        let ticked = world.tick().await;
        assert_eq!(ticked.enqueued, 0);
        world.assert_left(ticked.next_in, HOUR);
        world.advance_to(moment, HOUR).await;
        assert_eq!(world.tick().await.enqueued, usize::from(moment.has_come()), "{moment:?}");
        for job in world.all_jobs().await {
            assert_eq!(job.scheduled_at.max(hour + HOUR), job.scheduled_at, "{moment:?}");
            world.delete(job.id, true).await.expect("delete_job");
        }
        world.scheduler().delete(&schedule_name("s")).await.expect("delete");
    }
}

/// R15.4: an occurrence that is at most 10 s late is on time, and runs even if missed ones do not.
/// Guard: core's limit of 10 s.
pub async fn r15_4_ten_seconds_late_is_on_time(world: &dyn World) {
    let late = Duration::from_secs(10) + MILLISECOND;
    for moment in Moment::ALL {
        world.to_the_hour().await;
        let skips = ScheduleDraft::every("s", HOUR, draft()).catch_up(CatchUp::Skip);
        world.declare(skips).await;
        world.advance(HOUR).await;
        world.advance_to(moment, late).await;
        assert_eq!(world.tick().await.enqueued, usize::from(!moment.has_come()), "{moment:?}");
        world.scheduler().delete(&schedule_name("s")).await.expect("delete");
    }
}
