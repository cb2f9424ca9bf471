//! R8.11: errors of a group by hour and by day.

use std::time::Duration;

use queuekit_core::{DeadLetter, DeadLetterOutcome, ErrorGroup, Nack, NackKind, QueueName};

use crate::World;
use crate::kit::{HOUR, MILLISECOND, Moment, TTL, default_queue, draft, millis, queue};

const DAY: Duration = HOUR.saturating_mul(24);

/// R8.11: an error is counted in its hour and on its day, to their last millisecond; it is one of
/// the last 24 hours, and of the last 7 days, and then of none.
/// Guard: reading rolls by the store's clock; folding keeps the time of each error.
pub async fn r8_11_an_error_is_recent_until_its_hours_and_days_are_over(world: &dyn World) {
    for name in ["folded", "unfolded"].map(queue) {
        begin_day(world, &name).await;
        die(world, &name, "boom").await;
        if name.as_str() == "folded" {
            world.prune().await;
        }
        let mut passed = Duration::ZERO;
        for (bound, before, at) in [
            (HOUR, (1, 1, 1), (0, 1, 1)),
            (DAY, (0, 1, 1), (0, 0, 1)),
            (7 * DAY, (0, 0, 1), (0, 0, 0)),
        ] {
            world.advance_to(Moment::Before, bound - passed).await;
            assert_eq!(recent(world, &name).await, before, "before {bound:?}, {name}");
            world.advance(world.slack().max(MILLISECOND)).await;
            assert_eq!(recent(world, &name).await, at, "at {bound:?}, {name}");
            passed = bound;
        }
    }
}

/// R8.11: an hour has the errors from its first to its last millisecond, and no others.
/// Guard: hours are those of the clock, and not times since an error.
pub async fn r8_11_an_error_is_counted_in_its_own_hour(world: &dyn World) {
    for name in ["folded", "unfolded"].map(queue) {
        let fold = async || {
            if name.as_str() == "folded" {
                world.prune().await;
            }
        };
        begin_day(world, &name).await;
        die(world, &name, "boom").await;
        fold().await;
        world.advance_to(Moment::Before, HOUR).await;
        die(world, &name, "boom").await;
        fold().await;
        world.advance(world.slack().max(MILLISECOND)).await;
        die(world, &name, "boom").await;
        fold().await;
        let group = group(world, &name).await;
        assert_eq!(group.recent.hours()[21..], [0, 2, 1], "{group:?}");
    }
}

/// R8.11: errors of one hour, and of one day, are added up, whenever they are folded.
/// Guard: what is added later rolls what was counted before.
pub async fn r8_11_errors_of_an_hour_and_of_a_day_are_added_up(world: &dyn World) {
    let name = default_queue();
    begin_day(world, &name).await;
    world.advance(22 * HOUR).await;
    for (errors, folds) in [(2, false), (3, true), (1, false), (0, true), (4, false)] {
        for _ in 0..errors {
            die(world, &name, "boom").await;
        }
        if folds {
            world.prune().await;
        }
        world.advance(HOUR).await;
    }
    let group = group(world, &name).await;
    assert_eq!(group.recent.hours()[18..], [2, 3, 1, 0, 4, 0], "{group:?}");
    assert_eq!(group.recent.days()[4..], [0, 5, 5], "{group:?}");
    assert_eq!(group.deaths, 10);
    // So long after it that its hours are over, and then its days.
    for (time, day, week) in [(30 * HOUR, 1, 11), (8 * DAY, 1, 1)] {
        world.advance(time).await;
        die(world, &name, "boom").await;
        world.prune().await;
        assert_eq!(recent(world, &name).await, (1, day, week), "{time:?} later");
    }
}

/// R8.11: at most 24 hours and 7 days are kept, however long errors occur.
/// Guard: the oldest number goes when the clock begins another hour, or another day.
pub async fn r8_11_at_most_24_hours_and_7_days_are_kept(world: &dyn World) {
    let name = default_queue();
    begin_day(world, &name).await;
    for hour in 0..30 {
        if hour > 0 {
            world.advance(HOUR).await;
        }
        die(world, &name, "boom").await;
        if hour % 4 == 0 {
            world.prune().await;
        }
    }
    let by_hour = group(world, &name).await.recent;
    assert_eq!((by_hour.hours(), by_hour.in_7_days()), ([1; 24], 30));
    for day in 0..8 {
        world.advance(DAY).await;
        die(world, &name, "boom").await;
        if day % 3 == 0 {
            world.prune().await;
        }
    }
    let by_day = group(world, &name).await.recent;
    assert_eq!(by_day.days(), [1; 7]);
    assert_eq!((by_day.in_hour(), by_day.in_24_hours()), (1, 1));
}

/// R8.11: a failure that ends its job dead is one error, as are a failure and a death alone; a call
/// of many counts each. What removes a group removes these numbers.
/// Guard: errors are counted, and not failures and deaths.
pub async fn r8_11_a_failure_that_ends_its_job_is_one_error(world: &dyn World) {
    let name = default_queue();
    begin_day(world, &name).await;
    world.enqueue_n(6).await;
    let leases = world.reserve(6).await;
    let nack = |(at, lease): (usize, &queuekit_core::Lease)| {
        let kind = if at < 2 { NackKind::Fatal } else { NackKind::Retry };
        Nack::new(lease.token.clone(), kind, format!("boom {at}").as_str(), TTL)
    };
    let nacks: Vec<Nack> = leases.iter().enumerate().map(nack).collect();
    world.backend().nack(&nacks).await.expect("nack");
    die(world, &name, "boom 9").await;
    let group = group(world, &name).await;
    assert_eq!((group.failures, group.deaths, group.recent.in_hour()), (6, 3, 7));
    world.prune().await;
    assert_eq!(recent(world, &name).await, (7, 7, 7));
    assert!(world.admin().remove_queue(&name, true).await.expect("remove_queue"));
    die(world, &name, "boom 1").await;
    assert_eq!(recent(world, &name).await, (1, 1, 1));
}

/// Advances to the beginning of a day.
async fn begin_day(world: &dyn World, name: &QueueName) {
    world.enqueue(draft().queue(name).delay(300 * DAY)).await;
    let now = world.queue(name).await.as_of.as_millis();
    let passed = u64::try_from(now.rem_euclid(millis(DAY))).expect("a part of a day");
    world.advance(DAY - Duration::from_millis(passed)).await;
}

async fn die(world: &dyn World, name: &QueueName, error: &str) {
    let id = world.enqueue(draft().queue(name)).await;
    let died = world.dead_letter(DeadLetter::of_job(id, error)).await;
    assert_eq!(died, DeadLetterOutcome::DeadLettered);
}

/// The only group of a queue.
async fn group(world: &dyn World, name: &QueueName) -> ErrorGroup {
    let groups = world.error_groups(std::slice::from_ref(name)).await;
    assert_eq!(groups.len(), 1, "{groups:?}");
    groups.into_iter().next().expect("a group")
}

/// How many errors there were in the present hour, in 24 hours and in 7 days.
async fn recent(world: &dyn World, name: &QueueName) -> (u64, u64, u64) {
    let recent = group(world, name).await.recent;
    (recent.in_hour(), recent.in_24_hours(), recent.in_7_days())
}
