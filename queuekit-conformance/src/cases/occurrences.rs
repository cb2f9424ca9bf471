//! R15.2: each occurrence is enqueued once, and a late change has no effect.

use std::sync::Arc;
use std::task::Poll;

use futures_util::poll;
use queuekit_core::capability::{ScheduleChange, ScheduleChanged, ScheduleQuery};
use queuekit_core::schedule::SCHEDULE;
use queuekit_core::{Backend, Bytes, Error, Scheduler};

use super::schedules::{EVERY, hourly, nominal_of};
use crate::World;
use crate::kit::{default_queue, draft, in_parallel, schedule_name};

/// R15.2: each occurrence is enqueued once, however many processes tick.
/// Guard: one conditional step changes the row and enqueues its jobs.
pub async fn r15_2_each_occurrence_is_enqueued_once(world: &dyn World) {
    world.declare(hourly("s")).await;
    let mut nominal = Vec::new();
    for _ in 0..5 {
        nominal.push(world.to_the_hour().await);
        let ticks = world.handles().await.into_iter().cycle().take(8).map(|handle| async move {
            Scheduler::of(&*handle).tick().await.expect("tick").enqueued
        });
        let enqueued: usize = in_parallel(ticks).await.into_iter().sum();
        assert_eq!(enqueued, 1);
        assert_eq!(world.tick().await.enqueued, 0);
    }
    let jobs = world.all_jobs().await;
    assert_eq!(jobs.iter().map(nominal_of).collect::<Vec<_>>(), nominal);
    assert!(jobs.iter().all(|job| job.metadata.get(SCHEDULE) == Some("s")));
    let stored = world.schedule("s").await;
    let last = stored.last.expect("a last occurrence");
    assert_eq!((last.nominal, last.job), (nominal[4], jobs[4].id));
    assert_eq!((stored.enqueued, stored.next_at), (5, Some(nominal[4] + EVERY)));
}

/// R15.2: a caller that has read an older version of the row enqueues nothing.
/// Guard: the condition on the revision, and the jobs in the same step.
pub async fn r15_2_a_stale_change_enqueues_nothing(world: &dyn World) {
    world.declare(hourly("s")).await;
    let row = world.schedule_row("s").await;
    let change = |jobs| ScheduleChange {
        name: row.name.clone(),
        seen: Some(row.revision),
        to: Some((row.next_at, row.body.clone())),
        jobs,
    };
    let job = || draft().build().expect("a job");
    assert_eq!(world.change_schedule(&change(vec![job()])).await, ScheduleChanged::Changed);
    assert_ne!(world.schedule_row("s").await.revision, row.revision);
    assert_eq!(world.change_schedule(&change(vec![job()])).await, ScheduleChanged::Stale);
    let unseen = ScheduleChange { seen: None, ..change(vec![job()]) };
    assert_eq!(world.change_schedule(&unseen).await, ScheduleChanged::Stale);
    let removal = ScheduleChange { to: None, ..change(Vec::new()) };
    assert_eq!(world.change_schedule(&removal).await, ScheduleChanged::Stale);
    assert_eq!(world.schedule_row("s").await.body, row.body);
    assert_eq!(world.all_jobs().await.len(), 1);
}

/// R15.2: a schedule that was removed and created again is a different one.
/// Guard: revisions are never used twice.
pub async fn r15_2_a_schedule_made_again_is_another(world: &dyn World) {
    world.declare(hourly("s")).await;
    let old = world.schedule_row("s").await;
    assert!(world.scheduler().delete(&schedule_name("s")).await.expect("delete"));
    let job = draft().build().expect("a job");
    let change = ScheduleChange {
        name: old.name.clone(),
        seen: Some(old.revision),
        to: Some((old.next_at, old.body.clone())),
        jobs: vec![job],
    };
    assert_eq!(world.change_schedule(&change).await, ScheduleChanged::Stale);
    world.declare(hourly("s")).await;
    assert_eq!(world.change_schedule(&change).await, ScheduleChanged::Stale);
    assert!(world.all_jobs().await.is_empty());
}

/// R15.2: a change that is repeated after a lost reply enqueues its job once.
/// Guard: the id of a job is a function of schedule, time and queue.
pub async fn r15_2_a_job_that_is_stored_is_left_as_it_is(world: &dyn World) {
    world.declare(hourly("s")).await;
    let job = draft().build().expect("a job");
    for _ in 0..2 {
        let row = world.schedule_row("s").await;
        let change = ScheduleChange {
            name: row.name.clone(),
            seen: Some(row.revision),
            to: Some((row.next_at, row.body.clone())),
            jobs: vec![job.clone()],
        };
        let changed = world.change_schedule(&change).await;
        assert_eq!(changed, ScheduleChanged::Changed);
    }
    assert_eq!(world.all_jobs().await.len(), 1);
}

/// R15.2: a change that is delayed between any two of its steps enqueues its job once, even if
/// another process has completed it meanwhile and the job is no longer stored.
/// Guard: the jobs of a change are stored once, whichever process stores them.
pub async fn r15_2_a_change_that_others_finish_enqueues_once(world: &dyn World) {
    let other = world.handles().await.pop().expect("a handle");
    let schedules = other.capabilities().schedules.expect("the capability Schedules");
    for name in ["a", "b", "c", "d"] {
        world.declare(hourly(name)).await;
        let row = world.schedule_row(name).await;
        let job = draft().build().expect("a job");
        let id = job.id();
        let change = ScheduleChange {
            name: row.name.clone(),
            seen: Some(row.revision),
            to: Some((row.next_at, Bytes::from_static(b"moved"))),
            jobs: vec![job],
        };
        let named = ScheduleQuery::Named(row.name);
        let mut changing = world.schedules().change_schedule(&change);
        let answer = loop {
            if let Poll::Ready(answer) = poll!(&mut changing) {
                break Some(answer);
            }
            let found = schedules.find_schedules(&named).await.expect("find_schedules").rows;
            if found[0].body == "moved" {
                break None;
            }
            tokio::task::yield_now().await;
        };
        assert!(world.delete(id, true).await.expect("delete_job"), "{name} has moved on without");
        let answer = match answer {
            Some(answer) => answer,
            None => changing.await,
        };
        assert_eq!(answer.expect("change_schedule"), ScheduleChanged::Changed);
        assert!(world.find(id).await.is_none(), "{name} has enqueued it again");
    }
}

/// R15.2: of several concurrent changes based on the same row, one takes effect.
/// Guard: the condition on the revision.
pub async fn r15_2_of_changes_at_once_one_takes_effect(world: &dyn World) {
    world.declare(hourly("s")).await;
    let row = world.schedule_row("s").await;
    let changes = world.handles().await.into_iter().cycle().take(8).map(|handle| {
        let change = ScheduleChange {
            name: row.name.clone(),
            seen: Some(row.revision),
            to: Some((row.next_at, row.body.clone())),
            jobs: vec![draft().build().expect("a job")],
        };
        async move { changed_by(&handle, &change).await.expect("change_schedule") }
    });
    let changed = in_parallel(changes).await;
    let took = changed.iter().filter(|one| **one != ScheduleChanged::Stale).count();
    assert_eq!((took, world.jobs_of(&default_queue()).await.len()), (1, 1));
}

async fn changed_by(
    handle: &Arc<dyn Backend>,
    change: &ScheduleChange,
) -> Result<ScheduleChanged, Error> {
    let schedules = handle.capabilities().schedules.expect("the capability Schedules");
    schedules.change_schedule(change).await
}
